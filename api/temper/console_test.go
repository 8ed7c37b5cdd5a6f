package temper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestTheConsoleOfANodeIsShown(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	c1 := node.Host{Name: "c1", Incarnation: b.Conductor("c1", "", "ipmi")}
	uuid := b.Post("/v1/nodes", map[string]any{"driver": "ipmi", "name": "n1", "driver_info": map[string]any{"ipmi_address": "192.0.2.7"}}).Is(201)["uuid"].(string)
	const path = "/temper/v1/nodes/n1/console"
	want := map[string]any{"node_uuid": uuid, "node_name": "n1", "enabled": false, "conductor": nil, "claim": nil, "url": nil, "error": nil, "error_at": nil, "next_at": nil}
	require.Equal(t, want, b.Get(path).Is(200))
	why := func() string { return b.Get("/temper/v1/nodes/n1/why").Is(200)["text"].(string) }
	require.NotContains(t, why(), "console")

	b.Put("/v1/nodes/n1/states/console", map[string]any{"enabled": true}).Is(202)
	want["enabled"] = true
	require.Equal(t, want, b.Get(path).Is(200))
	require.Contains(t, why(), "Its console is enabled, and no conductor holds it yet. ")
	require.Contains(t, why(), "temper node console show n1")

	n, err := b.Store.Node(t.Context(), uuid)
	require.NoError(t, err)
	b.SQL(`INSERT INTO ring_owners (node_id, conductor_id) SELECT $1, c.id FROM conductors c`, n.ID)
	claimed, err := b.Store.HoldConsoles(t.Context(), c1, []int64{n.ID})
	require.NoError(t, err)
	save := func(failure string, pause time.Duration) {
		t.Helper()
		kept, err := b.Store.SaveConsoles(t.Context(), []node.ConsoleState{{ID: n.ID, Claim: claimed[0].Claim, Address: "192.0.2.1:10000", Error: failure, Pause: pause}})
		require.NoError(t, err)
		require.Len(t, kept, 1)
	}
	save("", 0)
	want["conductor"], want["claim"], want["url"] = "c1", float64(claimed[0].Claim), "tcp://192.0.2.1:10000"
	require.Equal(t, want, b.Get(path).Is(200))
	require.NotContains(t, why(), "console")

	save("no session is free. ", 10*time.Minute)
	shown := b.Get(path).Is(200)
	require.Equal(t, "no session is free. ", shown["error"])
	require.NotNil(t, shown["error_at"])
	require.NotNil(t, shown["next_at"])
	require.Regexp(t, `Its console failed at \S+ \(no session is free\); it is tried again about \S+\. `, why())
	failed := shown["error_at"]
	save("no session is free. ", 0)
	shown = b.Get(path).Is(200)
	require.Equal(t, failed, shown["error_at"], "it is the same failure")
	require.Nil(t, shown["next_at"])
	require.Regexp(t, `Its console failed at \S+ \(no session is free\); it is tried again with the next client\. `, why())

	b.Get("/temper/v1/nodes/n9/console").Fails(404)
	b.Get(path + "?x=1").Fails(400)
}
