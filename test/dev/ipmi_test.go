package dev_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
)

// A node with IPMI is enrolled, verified, and switched on, off and on again, while packets get lost.
func TestServersOfTheRackAsNodesWithIPMI(t *testing.T) {
	s := start(t, folder(t), "--nodes", "2", "--conductors", "1", "--drivers", "redfish,ipmi")
	at := s.info()
	call := func(method, url string, body, out any) error { return dev.Call(t.Context(), method, url, body, out) }
	var node struct {
		Driver    string  `json:"driver"`
		State     string  `json:"provision_state"`
		Power     string  `json:"power_state"`
		LastError *string `json:"last_error"`
	}
	const path = "/v1/nodes/sim-0002"
	read := func() error { return call(http.MethodGet, at.APIURL+path, nil, &node) }
	require.NoError(t, read())
	require.Equal(t, "ipmi", node.Driver)
	require.NoError(t, dev.Call(context.Background(), http.MethodPut, at.RackURL+"/servers/sim-0002/faults",
		map[string]any{"faults": []any{map[string]any{"kind": "lost_packet", "probability": 0.1}, map[string]any{"kind": "lost_packet", "probability": 0.1, "when": "after"}}}, nil))

	await := func(what string, done func() bool) {
		t.Helper()
		require.Eventually(t, func() bool { return read() == nil && done() }, seenWithin, look, "%s: %+v", what, &node)
	}
	require.NoError(t, call(http.MethodPut, at.APIURL+path+"/states/provision", map[string]any{"target": "manage"}, nil))
	await("manageable", func() bool { return node.State == "manageable" })
	for _, target := range []string{"power on", "rebooting", "soft power off", "power on", "power off"} {
		require.Eventually(t, func() bool { // a synchronization of the power may hold the node
			return call(http.MethodPut, at.APIURL+path+"/states/power", map[string]any{"target": target}, nil) == nil
		}, seenWithin, look)
		want := map[bool]string{true: "power off", false: "power on"}[strings.HasSuffix(target, "off")]
		var operations struct {
			Operations []struct {
				State   string  `json:"state"`
				Outcome *string `json:"outcome"`
				Error   *string `json:"error"`
			} `json:"operations"`
		}
		require.Eventually(t, func() bool {
			err := call(http.MethodGet, at.APIURL+"/temper/v1/operations?node=sim-0002&limit=1", nil, &operations)
			return err == nil && len(operations.Operations) == 1 && operations.Operations[0].State == "ended"
		}, seenWithin, look)
		require.Equal(t, "succeeded", *operations.Operations[0].Outcome, "%s: %v", target, operations.Operations[0].Error)
		await(target, func() bool { return node.Power == want })
	}
	require.NoError(t, call(http.MethodPut, at.APIURL+path+"/states/provision", map[string]any{"target": "provide"}, nil), "without cleaning")
	await("available", func() bool { return node.State == "available" })
}
