package dev_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

// A node with IPMI is enrolled, verified, and switched on, off and on again, while packets get lost.
func TestServersOfTheRackAsNodesWithIPMI(t *testing.T) {
	s := start(t, stack.Folder(t), "--nodes", "2", "--conductors", "1", "--drivers", "redfish,ipmi")
	const name = "sim-0002"
	n, err := s.Show(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, "ipmi", n.Driver)
	require.NoError(t, s.Spoil(t.Context(), name, []map[string]any{
		{"kind": "lost_packet", "probability": 0.1}, {"kind": "lost_packet", "probability": 0.1, "when": "after"},
	}))

	require.NoError(t, s.Provision(t.Context(), name, "manage"))
	require.NoError(t, s.AwaitNode(t.Context(), name, "manageable", seenWithin))
	for _, target := range []string{"power on", "rebooting", "soft power off", "power on", "power off"} {
		stack.Eventually(t, seenWithin, func() error { // a synchronization of the power may hold the node
			return s.Call(t.Context(), http.MethodPut, "/v1/nodes/"+name+"/states/power", map[string]any{"target": target}, nil)
		})
		o, err := s.AwaitOperation(t.Context(), name, "ended", seenWithin, func(o stack.Operation) bool { return o.State == "ended" })
		require.NoError(t, err)
		require.Equal(t, "succeeded", o.Outcome, "%s: %s", target, o.Error)
		want := map[bool]string{true: "power off", false: "power on"}[strings.HasSuffix(target, "off")]
		stack.Eventually(t, seenWithin, func() error {
			n, err := s.Show(t.Context(), name)
			if err == nil && n.Power != want {
				err = fmt.Errorf("after %s the node is %q", target, n.Power)
			}
			return err
		})
	}
	require.NoError(t, s.Provision(t.Context(), name, "provide"), "without cleaning")
	require.NoError(t, s.AwaitNode(t.Context(), name, "available", seenWithin))
}
