package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
)

const moving = "Node " + uuid + " can not be updated while a state transition is in progress."

func undecided(n *Node) {
	open(KindDeploy, Step{State: StepFailed})(n)
	n.Operation.Phase = Holding
}

func TestPatch(t *testing.T) {
	with := func(f func(*Node)) func(*Node) { return f }
	for name, c := range map[string]struct {
		before *Node
		edit   func(*Node)
		p      Patch
		kind   fault.Kind // Internal = allowed
		words  string
	}{
		"anything of a free node":                                           {in(Available), nil, Patch{Roots: []string{"driver_info", "name", "shard", "power_interface"}}, 0, ""},
		"the name while it deploys":                                         {in(Deploying, open(KindDeploy)), nil, Patch{Roots: []string{"name", "extra", "description", "maintenance", "retired"}, Reservation: "c1"}, 0, ""},
		"driver_info while it deploys":                                      {in(Deploying, open(KindDeploy)), nil, Patch{Roots: []string{"driver_info"}, Reservation: "c1"}, fault.Conflict, moving},
		"one field that must wait holds the others":                         {in(Deploying, open(KindDeploy)), nil, Patch{Roots: []string{"name", "instance_info"}}, fault.Conflict, moving},
		"a field that no step reads, outside the states that Ironic allows": {in(DeployWait, open(KindDeploy)), nil, Patch{Roots: []string{"shard"}}, fault.Conflict, moving},
		"the same in one that it allows":                                    {in(Verifying, open(KindManage)), nil, Patch{Roots: []string{"shard"}}, 0, ""},
		"what steps read, in one that it allows":                            {in(Verifying, open(KindManage)), nil, Patch{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what steps read, in a failed state":                                {in(DeployFailed), nil, Patch{Roots: []string{"driver_info", "instance_info"}}, 0, ""},
		"what steps read, in a failed state that still undoes":              {in(DeployFailed, open(KindDeploy)), nil, Patch{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what a step failed for, while it holds for a decision":             {in(DeployHold, undecided), nil, Patch{Roots: []string{"driver_info", "instance_info", "properties"}, Minor: 95}, 0, ""},
		"the same where Ironic has no hold state":                           {in(Verifying, undecided), nil, Patch{Roots: []string{"driver_info"}, Reservation: "c1", Minor: 95}, 0, ""},
		"not its driver":                                                    {in(DeployHold, undecided), nil, Patch{Roots: []string{"instance_info", "driver"}}, fault.Conflict, moving},
		"nor while an end or power is asked of it":                          {in(DeployHold, undecided, with(func(n *Node) { n.Operation.Asked = AskPower })), nil, Patch{Roots: []string{"instance_info"}}, fault.Conflict, moving},
		"nor at a hold step, which has not failed":                          {in(CleanHold, open(KindClean, Step{State: StepWaiting}), with(func(n *Node) { n.Operation.Phase = Holding })), nil, Patch{Roots: []string{"driver_info"}}, fault.Conflict, moving},
		"what steps read, while power changes":                              {in(Active, open(KindPower)), nil, Patch{Roots: []string{"properties"}, Reservation: "c1"}, fault.Conflict, locked},
		"before 1.39 a node that is inspected":                              {in(Inspecting, open(KindInspect)), nil, Patch{Roots: []string{"shard"}, Minor: 38}, 0, ""},
		"since 1.39 no more": {
			in(Inspecting, open(KindInspect)), nil,
			Patch{Roots: []string{"shard"}, Minor: 39},
			fault.Conflict,
			`Cannot update node "` + uuid + `" while it is in state "inspecting".`,
		},
		"the instance of a node in maintenance": {
			in(DeployWait, maintenance, open(KindDeploy), with(func(n *Node) { n.InstanceUUID = "i" })),
			func(n *Node) { n.InstanceUUID = "" },
			Patch{Roots: []string{"instance_uuid"}, RemovesOnlyInstanceUUID: true},
			0, "",
		},
		"but not under a conductor at work": {
			in(Deploying, maintenance, open(KindDeploy), with(func(n *Node) { n.InstanceUUID = "i" })),
			func(n *Node) { n.InstanceUUID = "" },
			Patch{Roots: []string{"instance_uuid"}, RemovesOnlyInstanceUUID: true, Reservation: "c1"},
			fault.Conflict, moving,
		},
		"an interface of an active node": {
			in(Active), nil,
			Patch{Roots: []string{"power_interface"}},
			fault.Conflict,
			"Node " + uuid + " can not have power_interface updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"an interface of an active node in maintenance": {in(Active, maintenance), nil, Patch{Roots: []string{"power_interface"}}, 0, ""},
		"the driver of an active node": {
			in(Active), func(n *Node) { n.Driver = "fake-hardware" },
			Patch{Roots: []string{"driver"}},
			fault.Conflict,
			"Node " + uuid + " can not have driver updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"the first resource class of an active node": {in(Active), func(n *Node) { n.ResourceClass = "big" }, Patch{Roots: []string{"resource_class"}}, 0, ""},
		"another resource class of an active node": {
			in(Active, with(func(n *Node) { n.ResourceClass = "small" })), func(n *Node) { n.ResourceClass = "big" },
			Patch{Roots: []string{"resource_class"}},
			fault.Conflict,
			"Node " + uuid + " can not have resource_class updated unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states.",
		},
		"a claim of a free node": {in(Available), func(n *Node) { n.InstanceUUID = "i" }, Patch{Roots: []string{"instance_uuid"}}, 0, ""},
		"a claim of a taken node": {
			in(Available, with(func(n *Node) { n.InstanceUUID = "i" })), func(n *Node) { n.InstanceUUID = "j" },
			Patch{Roots: []string{"instance_uuid"}},
			fault.Conflict,
			"Node " + uuid + " is associated with instance i.",
		},
		"an allocated instance": {
			in(Active, with(func(n *Node) { n.InstanceUUID, n.AllocationUUID = "i", "a" })), func(n *Node) { n.InstanceUUID = "" },
			Patch{Roots: []string{"instance_uuid"}},
			fault.Conflict,
			"Node " + uuid + " with an allocation can not have instance_uuid removed unless it is in one of allowed (enroll, inspecting, inspect wait, manageable, available) states or in maintenance mode.",
		},
		"protecting an active node": {in(Active), protected, Patch{Roots: []string{"protected"}}, 0, ""},
		"protecting an available node": {
			in(Available), protected,
			Patch{Roots: []string{"protected"}},
			fault.Conflict,
			"Node " + uuid + " can only be made protected in provision states 'active' or 'rescue', the current state is 'available'",
		},
		"a reason for no protection": {
			in(Active), func(n *Node) { n.ProtectedReason = "x" },
			Patch{Roots: []string{"protected_reason"}},
			fault.Invalid,
			"The protected_reason field can only be set when protected is True",
		},
		"retiring an available node": {
			in(Available), retired,
			Patch{Roots: []string{"retired"}},
			fault.Conflict,
			"Node " + uuid + " can not have 'retired' set in provision state 'available', the current state is 'available'",
		},
		"retiring a manageable node": {in(Manageable), retired, Patch{Roots: []string{"retired"}}, 0, ""},
		"a reason for no retirement": {
			in(Active), func(n *Node) { n.RetiredReason = "x" },
			Patch{Roots: []string{"retired_reason"}},
			fault.Invalid,
			"The retired_reason field can only be set when retired is True",
		},
	} {
		t.Run(name, func(t *testing.T) {
			after := *c.before
			if c.edit != nil {
				c.edit(&after)
			}
			err := PatchAllowed(c.before, &after, c.p)
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
	Settle(n)
	require.Equal(t, &Node{}, n)
	n = &Node{Maintenance: true, MaintenanceReason: "m", Protected: true, ProtectedReason: "p", Retired: true, RetiredReason: "r"}
	want := *n
	Settle(n)
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
		"enrolled":                       {in(Enroll), "", 0, ""},
		"available":                      {in(Available), "", 0, ""},
		"failed adoption":                {in(AdoptFailed), "", 0, ""},
		"any state in maintenance":       {in(DeployWait, maintenance, instance, open(KindDeploy)), "", 0, ""},
		"a conductor is at work":         {in(Deploying, maintenance, open(KindDeploy)), "c1", fault.Conflict, locked},
		"an instance on it":              {in(Available, instance), "", fault.Conflict, "Node " + uuid + " is associated with instance i."},
		"protected, even in maintenance": {in(Active, maintenance, protected), "", fault.Forbidden, "Node " + uuid + " is protected and cannot be undeployed, rebuilt or deleted"},
		"active": {in(Active), "", fault.Conflict, `Can not delete node "` + uuid + `" while it is in provision state "active". ` +
			`Valid provision states to perform deletion are: "('manageable', 'enroll', 'adopt failed', 'available')", or set the node into maintenance mode`},
	} {
		t.Run(name, func(t *testing.T) {
			err := DeleteAllowed(c.n, c.reservation)
			if c.words == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.words)
			require.Equal(t, c.kind, fault.KindOf(err))
		})
	}
}
