package ironic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.WaitingWithPort("n1")
	token, _ := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	path := "/v1/heartbeat/" + uuid
	for name, h := range map[string]map[string]any{
		"no callback_url":      {"agent_token": token, "agent_version": "1"},
		"no token":             {"callback_url": "http://10.0.0.5:9999", "agent_version": "1"},
		"another token":        apitest.Heartbeat(strings.Repeat("x", 43)),
		"the mask as token":    apitest.Heartbeat("******"),
		"no version":           {"callback_url": "http://10.0.0.5:9999", "agent_token": token},
		"a URL that is none":   apitest.Heartbeat(token, "callback_url", "ftp://x"),
		"an unknown field":     apitest.Heartbeat(token, "colour", "red"),
		"a broken certificate": apitest.Heartbeat(token, "agent_verify_ca", "junk"),
	} {
		require.NotEmpty(t, b.At(68, "POST", path, h).Fails(400), name)
	}
	require.Empty(t, b.Operations.Told())
	b.At(67, "POST", path, apitest.Heartbeat(token, "agent_verify_ca", "x")).Fails(400)
	b.At(35, "POST", path, apitest.Heartbeat(token)).Fails(400)
	b.At(21, "POST", path, apitest.Heartbeat(token)).Fails(404)
	b.At(68, "POST", "/v1/heartbeat/nosuch", apitest.Heartbeat(token)).Fails(404)

	a := b.At(68, "POST", path, apitest.Heartbeat(token, "callback_url", "http://10.0.0.5:9999/"))
	require.Empty(t, a.Body)
	a.Is(202)
	require.Len(t, b.Operations.Told(), 1, "the workflow waits, and this is a new boot")
	b.At(68, "POST", path, apitest.Heartbeat(token)).Is(202)
	require.Len(t, b.Operations.Told(), 1, "only the first one is news")
	info := b.Field(uuid, "driver_internal_info").(map[string]any)
	require.Equal(t, "http://10.0.0.5:9999", info["agent_url"])
	require.NotNil(t, info["agent_last_heartbeat"])
	require.Contains(t, b.At(68, "POST", path, apitest.Heartbeat(token, "callback_url", "http://10.0.0.6:9999")).Fails(400), "callback_url")

	late, _ := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	require.Equal(t, "******", late, "after a heartbeat nothing is told any more")

	b.SQL(`UPDATE agents SET verify_ca = 'pem'`)
	require.Contains(t, b.At(68, "POST", path, apitest.Heartbeat(token)).Fails(400), "agent_verify_ca", "once a certificate is known it is not taken away")
	require.Contains(t, b.At(68, "POST", path, apitest.Heartbeat(token, "agent_verify_ca", "x")).Fails(400), "agent_verify_ca")
	require.Equal(t, "pem", b.Text(`SELECT verify_ca FROM agents`))
}

func TestAgentsNeedTLSUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.Agent.Callback.AllowHTTP = false }).WithConductors()
	uuid := b.WaitingWithPort("n1")
	token, _ := b.At(62, "GET", "/v1/lookup?addresses="+apitest.MAC, nil).Lookup()
	b.At(68, "POST", "/v1/heartbeat/"+uuid, apitest.Heartbeat(token)).Fails(400)
	b.At(68, "POST", "/v1/heartbeat/"+uuid, apitest.Heartbeat(token, "callback_url", "https://10.0.0.5:9999")).Is(202)
}
