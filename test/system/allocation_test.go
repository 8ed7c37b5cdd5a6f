package system_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocation is an allocation as the API shows it.
type allocation struct {
	UUID      string  `json:"uuid"`
	State     string  `json:"state"`
	LastError *string `json:"last_error"`
	NodeUUID  *string `json:"node_uuid"`
}

// allocate requests a node, as baremetal allocation create --wait does.
func (s *stack) allocate(t *testing.T, body map[string]any) allocation {
	t.Helper()
	var a allocation
	require.NoError(t, s.must(t, http.StatusCreated, http.MethodPost, "/v1/allocations", body).Decode(&a))
	eventually(t, patience, func() error {
		if err := s.read("/v1/allocations/"+a.UUID, &a); err != nil {
			return err
		}
		if a.State == "allocating" {
			return fmt.Errorf("allocation %s is still %s", a.UUID, a.State)
		}
		return nil
	})
	return a
}

// A node stays in maintenance while it is allocated by its name, deployed with the agent, undeployed and cleaned.
func TestADeployInMaintenanceFromTheAllocationToTheCleaning(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.patch("automated_clean", true)
	class := "tried-" + n.server
	n.patch("resource_class", class)
	s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/maintenance", map[string]any{"reason": "new disk"})

	plain := s.allocate(t, map[string]any{"resource_class": class})
	require.Equal(t, "error", plain.State)
	require.Equal(t, "Failed to process allocation "+plain.UUID+": no available nodes match the resource class "+class+" (1 of class "+class+": 1 in maintenance)", text(plain.LastError))
	require.Equal(t, http.StatusBadRequest, n.ask("active", nil).Status)

	got := s.allocate(t, map[string]any{"resource_class": class, "traits": []string{"CUSTOM_MAINTENANCE"}, "candidate_nodes": []string{n.now().Name}})
	require.Equal(t, []string{"active", n.uuid}, []string{got.State, text(got.NodeUUID)}, text(got.LastError))
	require.Equal(t, got.UUID, text(n.now().InstanceUUID))

	n.deployed(n.provision("active", nil), digest(t, s.rack))
	require.True(t, n.now().Maintenance)
	require.Equal(t, http.StatusBadRequest, n.ask("rebuild", nil).Status, "that is not what was asked for")

	now := n.done(n.provision("deleted", nil), "available")
	require.True(t, now.Maintenance)
	require.Equal(t, "new disk", text(now.MaintenanceReason))
	require.Nil(t, now.InstanceUUID)
	require.Contains(t, n.hardware().steps(), "erase_devices", "it was cleaned as usual")
	s.must(t, http.StatusNotFound, http.MethodGet, "/v1/allocations/"+got.UUID, nil)
	require.Equal(t, "error", s.allocate(t, map[string]any{"resource_class": class}).State)

	s.must(t, http.StatusAccepted, http.MethodDelete, "/v1/nodes/"+n.uuid+"/maintenance", nil)
	require.Equal(t, "active", s.allocate(t, map[string]any{"resource_class": class}).State)
	s.must(t, http.StatusNoContent, http.MethodDelete, "/v1/nodes/"+n.uuid+"/allocation", nil)
}
