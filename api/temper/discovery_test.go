package temper_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// What an agent finds on a server that is not enrolled is kept and shown, and nothing else is.
func TestServersThatAreNotEnrolled(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.Discovery = true })
	b.WithConductors()
	b.WaitingWithPort("n1")
	const unknown = "52:54:00:0b:00:01"
	inventory := func(mac, serial string) map[string]any {
		return map[string]any{"inventory": map[string]any{
			"interfaces": []any{map[string]any{"mac_address": mac}}, "bmc_address": "0.0.0.0", "bmc_v6address": "fd00::1",
			"system_vendor": map[string]any{"serial_number": serial}, "boot": map[string]any{"pxe_interface": "01-" + strings.ReplaceAll(mac, ":", "-")},
		}}
	}
	post := func(body map[string]any) *apitest.Answer { return b.At(84, "POST", "/v1/continue_inspection", body) }
	post(inventory(unknown, "S1")).Is(202)
	post(inventory(unknown, "S1")).Is(202)
	post(inventory(apitest.MAC, "S2")).Fails(404)
	large := inventory("52:54:00:0b:00:02", "S3")
	large["inventory"].(map[string]any)["more"] = strings.Repeat("x", node.MaxDiscoveryInventory)
	post(large).Fails(413)
	post(map[string]any{"inventory": map[string]any{}}).Fails(400)
	list := b.Get("/temper/v1/discoveries").Is(200)["discoveries"].([]any)
	require.Len(t, list, 1)
	found := list[0].(map[string]any)
	require.Equal(t, []any{"S1", "fd00::1", unknown, []any{unknown}}, []any{found["serial"], found["bmc_address"], found["boot_mac"], found["macs"]})
	require.Equal(t, "2", b.Text(`SELECT times::text FROM discoveries`))
	at := "/temper/v1/discoveries/" + found["uuid"].(string)
	require.Equal(t, inventory(unknown, "S1")["inventory"], b.Get(at).Is(200)["inventory"])

	// The first inventory counts: a person may have looked at it.
	post(inventory(unknown, "S9")).Is(202)
	require.Equal(t, "S1", b.Get(at).Is(200)["serial"])

	// With a port of a node it is no discovery any more, also when the node has gone.
	b.Post("/v1/ports", map[string]any{"node_uuid": b.Enrolled("n2"), "address": unknown}).Is(201)
	require.Empty(t, b.Get("/temper/v1/discoveries").Is(200)["discoveries"])
	b.Get(at).Fails(404)
	b.SQL(`DELETE FROM ports WHERE address = $1`, unknown)
	b.Delete(at).Fails(404)
	post(inventory(unknown, "S1")).Is(202)
	again := "/temper/v1/discoveries/" + b.Get("/temper/v1/discoveries").Is(200)["discoveries"].([]any)[0].(map[string]any)["uuid"].(string)
	b.Delete(again).Is(204)
	b.Delete(again).Fails(404)
	b.Get("/temper/v1/discoveries/n1").Fails(404)

	off := apitest.New(t)
	off.At(84, "POST", "/v1/continue_inspection", inventory(unknown, "S1")).Fails(404)
	require.Empty(t, off.Get("/temper/v1/discoveries").Is(200)["discoveries"])
}
