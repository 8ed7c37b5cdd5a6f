package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestAFailedAllocationTellsTheCounts(t *testing.T) {
	for want, c := range map[string]struct {
		a      node.Allocation
		counts []node.Refused
	}{
		"Failed to process allocation U: no available nodes match the resource class gold (40 of class gold: 30 active, 6 quarantined, 4 in maintenance)": {
			node.Allocation{}, []node.Refused{{Why: "active", Count: 30}, {Why: "quarantined", Count: 6}, {Why: "in maintenance", Count: 4}},
		},
		"Failed to process allocation U: no available nodes match the resource class gold (0 of class gold)": {},
		"Failed to process allocation U: no suitable nodes have the requested traits CUSTOM_A, CUSTOM_B (2 of class gold: 1 active, 1 without the traits)": {
			node.Allocation{Traits: []string{"CUSTOM_A", "CUSTOM_B"}}, []node.Refused{{Why: "active", Count: 1}, {Why: node.RefusedTraits, Count: 1}},
		},
		"Failed to process allocation U: none of the requested nodes are available and match the resource class gold (2 requested: 2 of another class)": {
			node.Allocation{CandidateNodes: []string{"a", "b"}}, []node.Refused{{Why: node.RefusedClass, Count: 2}},
		},
	} {
		c.a.UUID, c.a.ResourceClass = "U", "gold"
		require.Equal(t, want, node.AllocationFailed(&c.a, c.counts))
	}
}

// Ironic conductor/allocations.py, verify_node_for_deallocation.
func TestWhenAnAllocationMayBeDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		n    node.Node
		held string
		ok   bool
	}{
		"of a free node":                    {node.Node{ProvisionState: node.Available}, "", true},
		"of an active node":                 {node.Node{ProvisionState: node.Active}, "", false},
		"of an active node in maintenance":  {node.Node{ProvisionState: node.Active, Maintenance: true}, "", true},
		"of an active one in quarantine":    {node.Node{ProvisionState: node.Active, Quarantine: &node.Quarantine{}}, "", false},
		"of a node that waits":              {node.Node{ProvisionState: node.DeployWait, TargetProvisionState: node.Active}, "", false},
		"of one that waits, in maintenance": {node.Node{ProvisionState: node.DeployWait, TargetProvisionState: node.Active, Maintenance: true}, "", true},
		"of a node that failed":             {node.Node{ProvisionState: node.DeployFailed, TargetProvisionState: node.Active}, "", true},
		"of a node that is held":            {node.Node{ProvisionState: node.Deploying, Maintenance: true}, "c1", false},
	} {
		t.Run(name, func(t *testing.T) {
			err := admission.Deallocate(&c.n, c.held)
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.Conflict, fault.KindOf(err), err)
		})
	}
}

// In every state, with every verb: maintenance opens nothing but the deploy of a
// node that was allocated for it.
func TestMaintenanceOpensOnlyTheDeployThatWasAllocatedForIt(t *testing.T) {
	for _, s := range node.States() {
		for _, v := range node.Verbs {
			n := node.Node{UUID: "u", Driver: "fake-hardware", ProvisionState: s, Maintenance: true}
			_, plain := admission.Verb(&n, v, "")
			n.AllocatedInMaintenance = true
			_, given := admission.Verb(&n, v, "")
			n.Fault = node.FaultPower
			_, faulty := admission.Verb(&n, v, "")
			require.Equal(t, plain, faulty, "%s %s", s, v.Target)
			if v.Event != node.EventDeploy {
				require.Equal(t, plain, given, "%s %s", s, v.Target)
				continue
			}
			require.EqualError(t, plain, "The provisioning operation can't be performed on node u because it's in maintenance mode.")
			n.Maintenance, n.AllocatedInMaintenance, n.Fault = false, false, ""
			_, usual := admission.Verb(&n, v, "")
			require.Equal(t, usual, given, "%s %s: as without maintenance", s, v.Target)
		}
	}
}

func TestWhoseNodeItIsDoesNotChangeUnderAnInstance(t *testing.T) {
	for name, c := range map[string]struct {
		before                node.Node
		owner, lessee         string
		ok                    bool
		allocation, projectID string
	}{
		"no instance":                       {node.Node{Owner: "a"}, "b", "", true, "", ""},
		"its owner's":                       {node.Node{Owner: "a", InstanceUUID: "i"}, "b", "", false, "", ""},
		"its lessee's, owner changes":       {node.Node{Owner: "a", Lessee: "b", InstanceUUID: "i"}, "c", "b", true, "", ""},
		"its lessee's, lessee changes":      {node.Node{Owner: "a", Lessee: "b", InstanceUUID: "i"}, "a", "c", false, "", ""},
		"its lessee's, lessee goes":         {node.Node{Owner: "a", Lessee: "b", InstanceUUID: "i"}, "a", "", false, "", ""},
		"its owner's, lent to another":      {node.Node{Owner: "a", InstanceUUID: "i"}, "a", "b", false, "", ""},
		"nobody's, owner comes":             {node.Node{InstanceUUID: "i"}, "a", "", true, "", ""},
		"an allocation's, its owner comes":  {node.Node{InstanceUUID: "i"}, "a", "", true, "a", ""},
		"an allocation's, another comes":    {node.Node{InstanceUUID: "i"}, "b", "", false, "a", ""},
		"a project's, it becomes lessee":    {node.Node{Owner: "a", InstanceUUID: "i"}, "a", "b", true, "", "b"},
		"a project's, another comes":        {node.Node{InstanceUUID: "i"}, "a", "", false, "", "b"},
		"nothing changes, strange instance": {node.Node{Owner: "a", InstanceUUID: "i"}, "a", "", true, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.before
			before.ProvisionState, before.AllocationOwner = node.Active, c.allocation
			if c.projectID != "" {
				before.InstanceInfo = map[string]any{"project_id": c.projectID}
			}
			after := before
			after.Owner, after.Lessee = c.owner, c.lessee
			err := admission.Patch(&before, &after, admission.PatchRequest{Roots: []string{"owner", "lessee"}, Minor: 95})
			if c.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.Conflict, fault.KindOf(err), err)
		})
	}
}
