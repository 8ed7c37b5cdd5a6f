package system_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A conductor with force_power_state_during_sync keeps servers as they were.
func TestAServerThatSomebodySwitchedOnIsSwitchedOff(t *testing.T) {
	t.Parallel()
	s := world(t)
	s.conductor(t, "kept", "kept-1", "TEMPER_FORCE_POWER_STATE_DURING_SYNC=true", "TEMPER_SYNC_POWER_STATE_INTERVAL=1s")
	n := in(t, s, "kept")
	sv := n.hardware()
	require.False(t, sv.Powered)
	a, err := request(http.MethodPost, sv.Address+sv.System+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "On"}, sv.login())
	require.NoError(t, err)
	require.Less(t, a.Status, 300, "%s", a.Body)
	eventually(t, patience, func() error {
		var all struct {
			Operations []struct {
				Kind    string  `json:"kind"`
				By      string  `json:"requested_by"`
				Outcome *string `json:"outcome"`
			} `json:"operations"`
		}
		if err := s.read("/temper/v1/operations?node="+n.uuid, &all); err != nil {
			return err
		}
		for _, o := range all.Operations {
			if o.Kind == "power" && o.By == "reconciliation" && text(o.Outcome) == "succeeded" && !n.hardware().Powered {
				return nil
			}
		}
		return errors.New("it was not switched off")
	})
	require.Equal(t, "power off", text(n.now().Power))
}
