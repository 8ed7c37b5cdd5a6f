package system_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ironic takes all of them, because a request waits for the lock of the one before.
func TestPowerRequestsBackToBackThroughEverything(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack.of(standard))
	// Each request waits for the one before, for up to node_locked_wait. On a busy machine that may take longer.
	taken := func(status int, method, path string, in any) (got answer) {
		t.Helper()
		eventually(t, time.Minute, func() error {
			a, err := s.ask(method, "/v1/nodes/"+n.uuid+path, in)
			if err == nil && a.Status != status {
				err = fmt.Errorf("%s %s: %d: %s", method, path, a.Status, a.Words())
			}
			got = a
			return err
		})
		return got
	}
	var last string
	for i := range 20 {
		last = n.accepted(taken(http.StatusAccepted, http.MethodPut, "/states/power", map[string]any{"target": []string{"power on", "power off"}[i%2]}))
	}
	taken(http.StatusOK, http.MethodPatch, "", []map[string]any{{"op": "add", "path": "/extra", "value": map[string]any{"x": 1}}})
	taken(http.StatusNoContent, http.MethodPut, "/management/boot_device", map[string]any{"boot_device": "pxe"})
	n.done(last, "manageable")
	require.False(t, n.hardware().Powered)
	changes := slices.DeleteFunc(n.hardware().Actions, func(a action) bool { return a.From == a.To })
	require.Len(t, changes, 20, "each was carried out, in order")
	n.power("power on")
	taken(http.StatusNoContent, http.MethodDelete, "", nil)
}

func TestTheBootDeviceAndAnNMIThroughEverything(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack.of(standard))
	path := "/v1/nodes/" + n.uuid + "/management/"
	boots := func() (out struct {
		Device     string `json:"boot_device"`
		Persistent bool   `json:"persistent"`
	},
	) {
		t.Helper()
		require.NoError(t, s.must(t, http.StatusOK, http.MethodGet, path+"boot_device", nil).Decode(&out))
		return out
	}
	var supported struct {
		Devices []string `json:"supported_boot_devices"`
	}
	require.NoError(t, s.must(t, http.StatusOK, http.MethodGet, path+"boot_device/supported", nil).Decode(&supported))
	require.Contains(t, supported.Devices, "pxe")
	require.Empty(t, boots().Device)

	s.must(t, http.StatusNoContent, http.MethodPut, path+"boot_device", map[string]any{"boot_device": "pxe"})
	require.Equal(t, "Pxe", n.hardware().BootOverride)
	require.Equal(t, "pxe", boots().Device)
	require.False(t, boots().Persistent)
	n.done(n.power("power on"), "manageable")
	require.Empty(t, boots().Device, "it was for one boot")

	n.spoil(fault{Kind: "reset", When: "after", Method: "POST", Path: reset, Count: 1})
	a := s.must(t, http.StatusInternalServerError, http.MethodPut, path+"inject_nmi", map[string]any{})
	require.Contains(t, a.Words(), "outcome unknown")
	n.spoil()
	s.must(t, http.StatusNoContent, http.MethodPut, path+"inject_nmi", map[string]any{})
	sent := slices.DeleteFunc(n.hardware().Actions, func(a action) bool { return a.Reset != "Nmi" })
	require.Len(t, sent, 2, "one for each request")
	require.Nil(t, n.now().LastError)

	n.done(n.power("power off"), "manageable")
	a = s.must(t, http.StatusBadRequest, http.MethodPut, path+"inject_nmi", map[string]any{})
	require.Contains(t, a.Words(), "an NMI interrupts what runs on a server, and this one is off")
}
