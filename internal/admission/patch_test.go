package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
)

const moving = "Node " + nodetest.UUID + " can not be updated while a state transition is in progress."

func undecided(n *Node) {
	nodetest.Open(KindDeploy, Step{State: StepFailed})(n)
	n.Operation.Phase = Holding
}

func TestPatch(t *testing.T) {
	with := func(f func(*Node)) func(*Node) { return f }
	for name, c := range map[string]struct {
		before *Node
		edit   func(*Node)
		p      admission.PatchRequest
		kind   fault.Kind // Internal = allowed
		words  string
	}{
		"anything of a free node":                                           {nodetest.In(Available), nil, admission.PatchRequest{Roots: []string{"driver_info", "name", "shard", "power_interface"}}, 0, ""},
		"the name while it deploys":                                         {nodetest.In(Deploying, nodetest.Open(KindDeploy)), nil, admission.PatchRequest{Roots: []string{"name", "extra", "description", "maintenance", "retired"}, Reservation: "c1"}, 0, ""},
		"driver_info while it deploys":                                      {nodetest.In(Deploying, nodetest.Open(KindDeploy)), nil, admission.PatchRequest{Roots: []string{"driver_info"}, Reservation: "c1"}, fault.Conflict, moving},
		"one field that must wait holds the others":                         {nodetest.In(Deploying, nodetest.Open(KindDeploy)), nil, admission.PatchRequest{Roots: []string{"name", "instance_info"}}, fault.Conflict, moving},
		"a field that no step reads, outside the states that Ironic allows": {nodetest.In(DeployWait, nodetest.Open(KindDeploy)), nil, admission.PatchRequest{Roots: []string{"shard"}}, fault.Conflict, moving},
		"the same in one that it allows":                                    {nodetest.In(Verifying, nodetest.Open(KindManage)), nil, admission.PatchRequest{Roots: []string{"shard"}}, 0, ""},
		"what steps read, in one that it allows":                            {nodetest.In(Verifying, nodetest.Open(KindManage)), nil, admission.PatchRequest{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what steps read, in a failed state":                                {nodetest.In(DeployFailed), nil, admission.PatchRequest{Roots: []string{"driver_info", "instance_info"}}, 0, ""},
		"what steps read, in a failed state that still undoes":              {nodetest.In(DeployFailed, nodetest.Open(KindDeploy)), nil, admission.PatchRequest{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what a step failed for, while it holds for a decision":             {nodetest.In(DeployHold, undecided), nil, admission.PatchRequest{Roots: []string{"driver_info", "instance_info", "properties"}, Minor: 95}, 0, ""},
		"the same where Ironic has no hold state":                           {nodetest.In(Verifying, undecided), nil, admission.PatchRequest{Roots: []string{"driver_info"}, Reservation: "c1", Minor: 95}, 0, ""},
		"not its driver":                                                    {nodetest.In(DeployHold, undecided), nil, admission.PatchRequest{Roots: []string{"instance_info", "driver"}}, fault.Conflict, moving},
		"nor while an end or power is asked of it":                          {nodetest.In(DeployHold, undecided, with(func(n *Node) { n.Operation.Asked = AskPower })), nil, admission.PatchRequest{Roots: []string{"instance_info"}}, fault.Conflict, moving},
		"nor at a hold step, which has not failed":                          {nodetest.In(CleanHold, nodetest.Open(KindClean, Step{State: StepWaiting}), with(func(n *Node) { n.Operation.Phase = Holding })), nil, admission.PatchRequest{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what steps read, while power changes":                              {nodetest.In(Active, nodetest.Open(KindPower)), nil, admission.PatchRequest{Roots: []string{"properties"}, Reservation: "c1"}, fault.Conflict, locked},
		"before 1.39 a node that is inspected":                              {nodetest.In(Inspecting, nodetest.Open(KindInspect)), nil, admission.PatchRequest{Roots: []string{"shard"}, Minor: 38}, 0, ""},
		"since 1.39 no more": {
			nodetest.In(Inspecting, nodetest.Open(KindInspect)), nil,
			admission.PatchRequest{Roots: []string{"shard"}, Minor: 39},
			fault.Conflict,
			`Cannot update node "` + nodetest.UUID + `" while it is in state "inspecting".`,
		},
		"the instance of a node in maintenance": {
			nodetest.In(DeployWait, maintenance, nodetest.Open(KindDeploy), with(func(n *Node) { n.InstanceUUID = "i" })),
			func(n *Node) { n.InstanceUUID = "" },
			admission.PatchRequest{Roots: []string{"instance_uuid"}, RemovesOnlyInstanceUUID: true},
			0, "",
		},
		"but not under a conductor at work": {
			nodetest.In(Deploying, maintenance, nodetest.Open(KindDeploy), with(func(n *Node) { n.InstanceUUID = "i" })),
			func(n *Node) { n.InstanceUUID = "" },
			admission.PatchRequest{Roots: []string{"instance_uuid"}, RemovesOnlyInstanceUUID: true, Reservation: "c1"},
			fault.Conflict, moving,
		},
		"an interface of an active node": {
			nodetest.In(Active), nil,
			admission.PatchRequest{Roots: []string{"power_interface"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " can not have power_interface updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"an interface of an active node in maintenance": {nodetest.In(Active, maintenance), nil, admission.PatchRequest{Roots: []string{"power_interface"}}, 0, ""},
		"the driver of an active node": {
			nodetest.In(Active), func(n *Node) { n.Driver = "fake-hardware" },
			admission.PatchRequest{Roots: []string{"driver"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " can not have driver updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"the first resource class of an active node": {nodetest.In(Active), func(n *Node) { n.ResourceClass = "big" }, admission.PatchRequest{Roots: []string{"resource_class"}}, 0, ""},
		"another resource class of an active node": {
			nodetest.In(Active, with(func(n *Node) { n.ResourceClass = "small" })), func(n *Node) { n.ResourceClass = "big" },
			admission.PatchRequest{Roots: []string{"resource_class"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " can not have resource_class updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states.",
		},
		"a claim of a free node": {nodetest.In(Available), func(n *Node) { n.InstanceUUID = "i" }, admission.PatchRequest{Roots: []string{"instance_uuid"}}, 0, ""},
		"a claim of a taken node": {
			nodetest.In(Available, with(func(n *Node) { n.InstanceUUID = "i" })), func(n *Node) { n.InstanceUUID = "j" },
			admission.PatchRequest{Roots: []string{"instance_uuid"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " is associated with instance i.",
		},
		"an allocated instance": {
			nodetest.In(Active, with(func(n *Node) { n.InstanceUUID, n.AllocationUUID = "i", "a" })), func(n *Node) { n.InstanceUUID = "" },
			admission.PatchRequest{Roots: []string{"instance_uuid"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " with an allocation can not have instance_uuid removed unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"protecting an active node": {nodetest.In(Active), protected, admission.PatchRequest{Roots: []string{"protected"}}, 0, ""},
		"protecting an available node": {
			nodetest.In(Available), protected,
			admission.PatchRequest{Roots: []string{"protected"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " can only be made protected in provision states 'active' or 'rescue', the current state is 'available'",
		},
		"a reason for no protection": {
			nodetest.In(Active), func(n *Node) { n.ProtectedReason = "x" },
			admission.PatchRequest{Roots: []string{"protected_reason"}},
			fault.Invalid,
			"The protected_reason field can only be set when protected is True",
		},
		"retiring an available node": {
			nodetest.In(Available), retired,
			admission.PatchRequest{Roots: []string{"retired"}},
			fault.Conflict,
			"Node " + nodetest.UUID + " can not have 'retired' set in provision state 'available', the current state is 'available'",
		},
		"retiring a manageable node": {nodetest.In(Manageable), retired, admission.PatchRequest{Roots: []string{"retired"}}, 0, ""},
		"a reason for no retirement": {
			nodetest.In(Active), func(n *Node) { n.RetiredReason = "x" },
			admission.PatchRequest{Roots: []string{"retired_reason"}},
			fault.Invalid,
			"The retired_reason field can only be set when retired is True",
		},
	} {
		t.Run(name, func(t *testing.T) {
			after := *c.before
			if c.edit != nil {
				c.edit(&after)
			}
			err := admission.Patch(c.before, &after, c.p)
			if c.words == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.words)
			require.Equal(t, c.kind, fault.KindOf(err))
		})
	}
}

func TestSettle(t *testing.T) {
	n := &Node{MaintenanceReason: "m", Fault: FaultPower, ProtectedReason: "p", RetiredReason: "r"}
	n.ClearStaleReasons()
	require.Equal(t, &Node{}, n)
	n = &Node{Maintenance: true, MaintenanceReason: "m", Protected: true, ProtectedReason: "p", Retired: true, RetiredReason: "r"}
	want := *n
	n.ClearStaleReasons()
	require.Equal(t, &want, n)
}

func TestDelete(t *testing.T) {
	instance := func(n *Node) { n.InstanceUUID = "i" }
	for name, c := range map[string]struct {
		n           *Node
		reservation string
		kind        fault.Kind
		words       string
	}{
		"enrolled":                       {nodetest.In(Enroll), "", 0, ""},
		"available":                      {nodetest.In(Available), "", 0, ""},
		"failed adoption":                {nodetest.In(AdoptFailed), "", 0, ""},
		"any state in maintenance":       {nodetest.In(DeployWait, maintenance, instance, nodetest.Open(KindDeploy)), "", 0, ""},
		"a conductor is at work":         {nodetest.In(Deploying, maintenance, nodetest.Open(KindDeploy)), "c1", fault.Conflict, locked},
		"an instance on it":              {nodetest.In(Available, instance), "", fault.Conflict, "Node " + nodetest.UUID + " is associated with instance i."},
		"protected, even in maintenance": {nodetest.In(Active, maintenance, protected), "", fault.Forbidden, "Node " + nodetest.UUID + " is protected and cannot be undeployed, rebuilt or deleted"},
		"active": {nodetest.In(Active), "", fault.Conflict, `Can not delete node "` + nodetest.UUID + `" while it is in provision state "active". ` +
			`Valid provision states to perform deletion are: "('manageable', 'enroll', 'adopt failed', 'available')", or set the node into maintenance mode`},
	} {
		t.Run(name, func(t *testing.T) {
			err := admission.Delete(c.n, c.reservation)
			if c.words == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.words)
			require.Equal(t, c.kind, fault.KindOf(err))
		})
	}
}
