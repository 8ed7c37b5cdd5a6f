package system_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/schemas"
)

// canary is a secret that stands nowhere else.
func canary(what string) string { return "Canary-" + what + "-" + rand.Text()[:12] }

// Each secret has a word of its own. It is looked for, in the clear and as hexadecimal and base64 text, in everything that Temper writes or
// answers, after operations of all kinds with secrets that succeed and that fail over them.
func TestNoCanaryIsFoundAnywhere(t *testing.T) {
	t.Parallel()
	s := world(t)
	var ear eavesdropper
	n := available(t, s, ownRack(t, newProxy(t, s.APIURL, ear.between), sim.Config{Servers: 1}))
	first := n.hardware().Password
	signing := make([]byte, 32)
	_, _ = rand.Read(signing) // never fails
	secrets := map[string]string{
		"the first password of the BMC": first,
		"a wrong password":              canary("wrong"),
		"the config drive":              canary("drive"),
		"the secret of an image store":  canary("store"),
		"the password of a rescue":      canary("rescue"),
		"the password of IPMI":          canary("ipmi"),
		"a key of SNMP":                 canary("snmp"),
		"the secret of a webhook":       base64.StdEncoding.EncodeToString(signing),
		"the password of a user":        canary("user"),
		"the argument of a step":        canary("argument"),
		"the header of a subscription":  canary("header"),
	}
	keys, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(s.Log("api"))), "keyset.json"))
	require.NoError(t, err)
	for i, m := range regexp.MustCompile(`"value":\s*"([^"]+)"`).FindAllStringSubmatch(string(keys), -1) {
		secrets[fmt.Sprintf("key %d", i)] = m[1]
	}

	hook := "canary-" + strings.ToLower(rand.Text()[:8])
	s.must(t, http.StatusCreated, http.MethodPost, "/temper/v1/webhooks", map[string]any{
		"name": hook, "url": "http://192.0.2.1:9/hook", "secret": "whsec_" + secrets["the secret of a webhook"], "enabled": false,
	})
	n.repatch(map[string]any{
		"driver_info/ipmi_password": secrets["the password of IPMI"], "driver_info/snmp_auth_key": secrets["a key of SNMP"],
		"instance_info/image_request_authorization_secret": "reader:" + secrets["the secret of an image store"], "rescue_interface": "agent",
	})
	work := func(body map[string]any) string {
		return n.accepted(s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/nodes/"+n.uuid+"/operations", body))
	}
	var ids []string
	over := func(outcome, id string) {
		t.Helper()
		o := n.over(id)
		require.Equal(t, outcome, text(o.Outcome), "%s", o)
		ids = append(ids, id)
	}

	over("succeeded", work(map[string]any{"verb": "active", "config_drive": map[string]any{"user_data": secrets["the config drive"]}}))
	secrets["the token of the agent"] = ear.heard()
	n.r.spoil(t, n.server, fault{Kind: "truncated_password"})
	over("failed", work(map[string]any{"verb": "rotate_bmc_password"}))
	n.r.spoil(t, n.server, fault{Kind: "reset", When: "after", Method: "PATCH", Path: "/AccountService/Accounts", Count: 1})
	over("succeeded", work(map[string]any{"verb": "rotate_bmc_password"}))
	secrets["the second password of the BMC"] = n.hardware().Password
	over("succeeded", work(map[string]any{"verb": "rotate_bmc_password"}))
	secrets["the third password of the BMC"] = n.hardware().Password
	require.NotEqual(t, secrets["the second password of the BMC"], secrets["the third password of the BMC"])
	require.NotEqual(t, first, secrets["the second password of the BMC"])
	subscription := n.over(work(map[string]any{"verb": "vendor_passthru", "method": "create_subscription", "args": map[string]any{
		"Destination": "https://192.0.2.1/" + secrets["the argument of a step"], "HttpHeaders": []any{map[string]any{"Authorization": secrets["the header of a subscription"]}},
	}}))
	ids = append(ids, subscription.ID) // some BMCs ask the destination first
	rescue := n.over(work(map[string]any{"verb": "rescue", "rescue_password": secrets["the password of a rescue"]}))
	ids = append(ids, rescue.ID)
	require.Equal(t, "succeeded", text(rescue.Outcome), "%s", rescue)
	over("succeeded", work(map[string]any{"verb": "unrescue"}))
	n.patch("driver_info/redfish_password", secrets["a wrong password"])
	over("failed", work(map[string]any{"verb": "power off"}))
	over("failed", work(map[string]any{"verb": "rotate_bmc_password"}))
	n.patch("driver_info/redfish_password", secrets["the third password of the BMC"])
	over("succeeded", work(map[string]any{"verb": "rebuild"}))

	told := map[string]string{}
	s.everyAnswer(t, told, map[string]string{"node": n.uuid, "operation": ids[1], "webhook": hook, "name": hook}, "canary", secrets["the password of a user"])
	for _, id := range ids {
		o, err := n.operation(id)
		require.NoError(t, err)
		told["Temporal's history of "+o.WorkflowID] = s.history(t, o.WorkflowID)
	}
	s.metrics(t, told)
	s.logs(t, told)
	s.tables(t, told)
	requireNowhere(t, secrets, told)
}

// requireNowhere requires that no secret stands in any of these texts, in whatever form.
func requireNowhere(t *testing.T, secrets, told map[string]string) {
	t.Helper()
	for what, secret := range secrets {
		require.NotEmpty(t, secret, what)
		for _, form := range []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
			for where, words := range told {
				if i := strings.Index(words, form); i >= 0 {
					t.Errorf("%s stands in %s: %.300s", what, where, words[max(0, i-100):])
				}
			}
		}
	}
}

// everyAnswer collects the answers to a GET of every path of the API, also to those about things that there are none of.
func (s *stack) everyAnswer(t *testing.T, told, names map[string]string, user, password string) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(schemas.OpenAPI)
	require.NoError(t, err)
	parameter := regexp.MustCompile(`\{([^}]+)\}`)
	good := 0
	for path, item := range doc.Paths.Map() {
		if item.Get == nil {
			continue
		}
		at := parameter.ReplaceAllStringFunc(path, func(p string) string {
			if name, known := names[strings.Trim(p, "{}")]; known {
				return name
			}
			return "1"
		})
		body, status := s.answerOf(t, at, user, password)
		told["GET "+at] = body
		if status == http.StatusOK {
			good++
		}
	}
	require.Greater(t, good, 30, "most paths have an answer")
}

// answerOf returns the beginning of the answer to a GET. Streams do not end by themselves.
func (s *stack) answerOf(t *testing.T, path, user, password string) (body string, status int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.APIURL+path, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("X-OpenStack-Ironic-API-Version", "latest")
	req.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil { // a stream that has told nothing yet
		require.ErrorIs(t, err, context.DeadlineExceeded, path)
		return "", 0
	}
	defer resp.Body.Close()
	all, _ := io.ReadAll(io.LimitReader(resp.Body, 16<<20)) // a stream ends with the deadline
	return string(all), resp.StatusCode
}

// metrics reads the metrics of all processes.
func (s *stack) metrics(t *testing.T, told map[string]string) {
	t.Helper()
	info, err := s.Info()
	require.NoError(t, err)
	read := 0
	for _, p := range info.Processes {
		if p.MetricsURL == nil {
			continue
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, *p.MetricsURL, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		all, err := io.ReadAll(resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		told["the metrics of "+p.Name] = string(all)
		read++
	}
	require.Greater(t, read, 3)
}
