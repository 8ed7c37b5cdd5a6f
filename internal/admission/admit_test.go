package admission_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
)

func protected(n *Node)   { n.Protected = true }
func maintenance(n *Node) { n.Maintenance = true }
func retired(n *Node)     { n.Retired = true }

const (
	locked = "Node " + nodetest.UUID + " is locked by host c1, please retry after the current operation is completed."
	stuck  = "Node " + nodetest.UUID + " is locked by host operation-7, please retry after the current operation is completed."
)

func TestAdmitStartsWork(t *testing.T) {
	for name, c := range map[string]struct {
		n    *Node
		verb string
		want admission.Effect
	}{
		"manage of an enrolled node verifies it": {
			nodetest.In(Enroll), "manage",
			admission.Effect{Open: KindManage, From: Enroll, To: Verifying, Target: Manageable, ClearError: true},
		},
		"manage of an available node needs no work": {
			nodetest.In(Available), "manage",
			admission.Effect{From: Available, To: Manageable},
		},
		"manage of a node that failed cleaning needs no work": {
			nodetest.In(CleanFailed), "manage",
			admission.Effect{From: CleanFailed, To: Manageable},
		},
		"provide cleans": {
			nodetest.In(Manageable), "provide",
			admission.Effect{Open: KindProvide, From: Manageable, To: Cleaning, Target: Available, ClearError: true},
		},
		"provide works in maintenance, as in Ironic": {
			nodetest.In(Manageable, maintenance), "provide",
			admission.Effect{Open: KindProvide, From: Manageable, To: Cleaning, Target: Available, ClearError: true},
		},
		"clean by hand aims at manageable": {
			nodetest.In(Manageable), "clean",
			admission.Effect{Open: KindClean, From: Manageable, To: Cleaning, Target: Manageable, ClearError: true},
		},
		"inspect": {
			nodetest.In(InspectFailed), "inspect",
			admission.Effect{Open: KindInspect, From: InspectFailed, To: Inspecting, Target: Manageable, ClearError: true},
		},
		"rescue, in maintenance, too": {
			nodetest.In(Active, maintenance), "rescue",
			admission.Effect{Open: KindRescue, From: Active, To: Rescuing, Target: Rescue, ClearError: true},
		},
		"unrescue": {
			nodetest.In(Rescue, maintenance), "unrescue",
			admission.Effect{Open: KindUnrescue, From: Rescue, To: Unrescuing, Target: Active, ClearError: true},
		},
		"active deploys": {
			nodetest.In(Available), "active",
			admission.Effect{Open: KindDeploy, From: Available, To: Deploying, Target: Active, ClearError: true},
		},
		"deploy is the same word": {
			nodetest.In(DeployFailed), "deploy",
			admission.Effect{Open: KindDeploy, From: DeployFailed, To: Deploying, Target: Active, ClearError: true},
		},
		"rebuild of an active node": {
			nodetest.In(Active), "rebuild",
			admission.Effect{Open: KindRebuild, From: Active, To: Deploying, Target: Active, ClearError: true},
		},
		"deleted of an active node": {
			nodetest.In(Active), "deleted",
			admission.Effect{Open: KindUndeploy, From: Active, To: Deleting, Target: Available, ClearError: true},
		},
		"undeploy of a node in error, in maintenance": {
			nodetest.In(ErrorState, maintenance), "undeploy",
			admission.Effect{Open: KindUndeploy, From: ErrorState, To: Deleting, Target: Available, ClearError: true},
		},
		"abort of a failed service gives the node back": {
			nodetest.In(ServiceFailed), "abort",
			admission.Effect{From: ServiceFailed, To: Active},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := admission.Verb(c.n, VerbOf(c.verb), "")
			require.NoError(t, err)
			c.want.Move = []Event{VerbOf(c.verb).Event}
			require.Equal(t, c.want, d)
		})
	}
}

func TestAdmitSteersTheOpenOperation(t *testing.T) {
	running := Step{Step: "write_image", State: StepRunning}
	abortable := Step{Step: "deploy", State: StepRunning, Abortable: true}
	done := Step{Step: "prepare", State: StepDone}
	manual := func(n *Node) { n.TargetProvisionState = Manageable }
	for name, c := range map[string]struct {
		n    *Node
		verb string
		want admission.Effect
	}{
		"abort in a wait state acts at once where the step is abortable": {
			nodetest.In(DeployWait, nodetest.Open(KindDeploy, done, abortable)), "abort",
			admission.Effect{Steer: AskCancel, From: DeployWait, To: DeployFailed},
		},
		"abort lets a step finish that is not abortable": {
			nodetest.In(CleanWait, manual, nodetest.Open(KindClean, done, running)), "abort",
			admission.Effect{Steer: AskAbort, From: CleanWait, To: CleanWait},
		},
		"abort keeps the target of cleaning by hand": {
			nodetest.In(CleanWait, manual, nodetest.Open(KindClean, done, abortable)), "abort",
			admission.Effect{Steer: AskCancel, From: CleanWait, To: CleanFailed},
		},
		"abort of a hold acts at once: nothing runs": {
			nodetest.In(CleanHold, nodetest.Open(KindClean, running)), "abort",
			admission.Effect{Steer: AskCancel, From: CleanHold, To: CleanFailed},
		},
		"abort of an inspection": {
			nodetest.In(InspectWait, nodetest.Open(KindInspect, abortable)), "abort",
			admission.Effect{Steer: AskCancel, From: InspectWait, To: InspectFailed},
		},
		"deleted while the deploy waits gives the node back": {
			nodetest.In(DeployWait, nodetest.Open(KindDeploy, running)), "deleted",
			admission.Effect{Steer: AskDelete, From: DeployWait, To: Deleting},
		},
		"unhold goes on": {
			nodetest.In(DeployHold, nodetest.Open(KindDeploy, running)), "unhold",
			admission.Effect{Steer: AskUnhold, From: DeployHold, To: DeployWait},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := admission.Verb(c.n, VerbOf(c.verb), "")
			require.NoError(t, err)
			if c.want.From != c.want.To {
				c.want.Move = []Event{VerbOf(c.verb).Event}
			}
			require.Equal(t, c.want, d)
		})
	}
}

func TestAdmitRefusesInIronicsWords(t *testing.T) {
	for name, c := range map[string]struct {
		n           *Node
		verb        string
		reservation string
		kind        fault.Kind
		words       string
	}{
		"legal and reserved":     {nodetest.In(Active, nodetest.Open(KindPower)), "rebuild", "c1", fault.Conflict, locked},
		"not legal and reserved": {nodetest.In(Deploying, nodetest.Open(KindDeploy)), "provide", "c1", fault.Conflict, locked},
		"not legal and free": {
			nodetest.In(Enroll), "provide", "", fault.NotAllowed,
			`The requested action "provide" can not be performed on node "` + nodetest.UUID + `" while it is in state "enroll".`,
		},
		"not legal in a wait state, where clients see no reservation": {
			nodetest.In(CleanWait, nodetest.Open(KindClean)), "active", "", fault.NotAllowed,
			`The requested action "active" can not be performed on node "` + nodetest.UUID + `" while it is in state "clean wait".`,
		},
		"legal, but the failed operation is still undoing": {nodetest.In(DeployFailed, nodetest.Open(KindDeploy)), "deleted", "", fault.Conflict, stuck},
		"an unknown word": {
			nodetest.In(Active), "explode", "", fault.NotAllowed,
			`The requested action "explode" can not be performed on node "` + nodetest.UUID + `" while it is in state "active".`,
		},
		"the table's inner events are no words": {
			nodetest.In(Deploying), "done", "", fault.NotAllowed,
			`The requested action "done" can not be performed on node "` + nodetest.UUID + `" while it is in state "deploying".`,
		},
		"the empty word": {
			nodetest.In(Active), "", "", fault.NotAllowed,
			`The requested action "" can not be performed on node "` + nodetest.UUID + `" while it is in state "active".`,
		},
		"protected nodes are not given back": {
			nodetest.In(Active, protected), "deleted", "", fault.Forbidden,
			"Node " + nodetest.UUID + " is protected and cannot be undeployed, rebuilt or deleted",
		},
		"protected nodes are not rebuilt": {
			nodetest.In(Active, protected), "rebuild", "", fault.Forbidden,
			"Node " + nodetest.UUID + " is protected and cannot be undeployed, rebuilt or deleted",
		},
		"legality comes before protection": {
			nodetest.In(Available, protected), "deleted", "", fault.NotAllowed,
			`The requested action "deleted" can not be performed on node "` + nodetest.UUID + `" while it is in state "available".`,
		},
		"no deploy in maintenance": {
			nodetest.In(Available, maintenance), "active", "", fault.Invalid,
			"The provisioning operation can't be performed on node " + nodetest.UUID + " because it's in maintenance mode.",
		},
		"no rebuild in maintenance, said before anything else": {
			nodetest.In(Enroll, maintenance), "rebuild", "", fault.Invalid,
			"The provisioning operation can't be performed on node " + nodetest.UUID + " because it's in maintenance mode.",
		},
		"no cleaning by hand in maintenance": {
			nodetest.In(Manageable, maintenance), "clean", "", fault.Invalid,
			"The cleaning operation can't be performed on node " + nodetest.UUID + " because it's in maintenance mode.",
		},
		"no provide of a retired node": {
			nodetest.In(Manageable, retired), "provide", "", fault.Invalid,
			"The providing operation can't be performed on node " + nodetest.UUID + " because it is retired.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := admission.Verb(c.n, VerbOf(c.verb), c.reservation)
			require.EqualError(t, err, c.words)
			require.Equal(t, c.kind, fault.KindOf(err))
			require.Zero(t, d)
		})
	}
}

// The row holds one ask: none that was accepted is lost to a weaker one.
func TestAnAskIsNotReplacedByAWeakerOne(t *testing.T) {
	for name, c := range map[string]struct {
		state State
		asked Ask
		verb  string
		want  Ask // "" = locked
	}{
		"a power request before an unhold is done first": {DeployHold, AskPower, "unhold", AskNone},
		"a cancel is not taken back by an unhold":        {DeployHold, AskCancel, "unhold", AskNone},
		"an unhold twice is one":                         {DeployHold, AskUnhold, "unhold", AskUnhold},
		"a cancel does not wait for an abort's step":     {CleanWait, AskCancel, "abort", AskCancel},
		"an abort waits for its step":                    {CleanWait, AskNone, "abort", AskAbort},
		"a power request gives way to an abort":          {DeployHold, AskPower, "abort", AskCancel},
		"giving the node back wins over everything":      {DeployWait, AskCancel, "deleted", AskDelete},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodetest.In(c.state, nodetest.Open(KindDeploy, Step{Step: "write_image", State: StepRunning}))
			n.Operation.Asked = c.asked
			d, err := admission.Verb(n, VerbOf(c.verb), "")
			if c.want == AskNone {
				require.Equal(t, fault.Conflict, fault.KindOf(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, d.Steer)
		})
	}
}

// Every state with every word, free and taken: what the table has not is
// refused, what it has is admitted exactly where nobody holds the node or the
// verb steers, and every move is the table's.
func TestAdmitFollowsTheTableEverywhere(t *testing.T) {
	for _, s := range States() {
		for _, v := range append(Verbs, VerbOf("explode")) {
			for _, taken := range []bool{false, true} {
				n := nodetest.In(s)
				if taken {
					nodetest.Open(KindDeploy)(n)
				}
				d, err := admission.Verb(n, v, "")
				to, illegal := Next(s, v.Event)
				switch {
				case illegal != nil:
					require.Equal(t, fault.NotAllowed, fault.KindOf(err), "%s in %s", v.Target, s)
				case taken && !v.Steers(s):
					require.Equal(t, fault.Conflict, fault.KindOf(err), "%s in %s", v.Target, s)
				case taken:
					require.NoError(t, err)
					require.NotEmpty(t, d.Steer)
					require.Equal(t, to, d.To)
				case Transient(to) && v.Kind == "":
					require.Equal(t, fault.Invalid, fault.KindOf(err), "%s in %s", v.Target, s)
				default:
					require.NoError(t, err)
					require.Equal(t, to, d.To)
					require.Equal(t, Transient(to), d.Open != "")
					require.NotEmpty(t, d.Move)
				}
			}
		}
	}
}

func TestWordsAndTheirVersions(t *testing.T) {
	for word, minor := range map[string]int{
		"active": 1, "deploy": 73, "rebuild": 1, "deleted": 1, "undeploy": 73, "manage": 4, "provide": 4, "inspect": 6, "abort": 13,
		"clean": 15, "adopt": 17, "rescue": 38, "unrescue": 38, "unhold": 85, "service": 87,
	} {
		require.Equal(t, minor, VerbOf(word).Minor, word)
		require.Equal(t, minor, VerbOf(word).MinorIn(CleanWait), word)
	}
	require.Equal(t, 41, VerbOf("abort").MinorIn(InspectWait))
	require.Equal(t, 110, VerbOf("abort").MinorIn(DeployWait))
	require.Len(t, Verbs, 15)
}

func TestPowerRequests(t *testing.T) {
	for name, c := range map[string]struct {
		n      *Node
		target PowerState
		want   admission.Effect
	}{
		"a free node opens an operation": {
			nodetest.In(Active), Rebooting,
			admission.Effect{Open: KindPower, From: Active, To: Active, Power: Rebooting, TargetPower: PowerOn, ClearError: true},
		},
		"a failed state keeps its target": {
			nodetest.In(DeployFailed), SoftPowerOff,
			admission.Effect{Open: KindPower, From: DeployFailed, To: DeployFailed, Power: SoftPowerOff, TargetPower: PowerOff, ClearError: false},
		},
		"a waiting deploy runs it as a step": {
			nodetest.In(DeployWait, nodetest.Open(KindDeploy)), Rebooting,
			admission.Effect{Steer: AskPower, From: DeployWait, To: DeployWait, Power: Rebooting, TargetPower: PowerOn},
		},
		"what is being done is joined": {
			nodetest.In(Active, nodetest.Open(KindPower), powerOperation(SoftPowerOff, Running)), SoftPowerOff, admission.Effect{From: Active, To: Active, Join: true},
		},
		"a reboot that has not begun is joined": {
			nodetest.In(Active, nodetest.Open(KindPower), powerOperation(Rebooting, Accepted)), Rebooting, admission.Effect{From: Active, To: Active, Join: true},
		},
		"the same wish twice is one": {nodetest.In(InspectWait, nodetest.Open(KindInspect), func(n *Node) {
			n.Operation.Asked, n.Operation.AskedPower = AskPower, PowerOff
		}), PowerOff, admission.Effect{Steer: AskPower, From: InspectWait, To: InspectWait, Power: PowerOff, TargetPower: PowerOff}},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := admission.Power(c.n, c.target, "")
			require.NoError(t, err)
			require.Equal(t, c.want, d)
		})
	}
}

// powerOperation makes the open operation one that changes the power, in a phase.
func powerOperation(target PowerState, p Phase) func(*Node) {
	return func(n *Node) {
		n.Operation.PowerTarget, n.Operation.Phase = target, p
		if n.Operation.BegunAt = nil; p != Accepted {
			n.Operation.BegunAt = new(time.Time)
		}
	}
}

func TestPowerRequestsThatAreRefused(t *testing.T) {
	asked := func(a Ask) func(*Node) { return func(n *Node) { n.Operation.Asked = a } }
	for name, c := range map[string]struct {
		n           *Node
		target      PowerState
		reservation string
		kind        fault.Kind
		words       string
	}{
		"an unknown word names the power state": {
			nodetest.In(Active, func(n *Node) { n.PowerState = PowerOn }), "warp", "", fault.NotAllowed,
			`The requested action "warp" can not be performed on node "` + nodetest.UUID + `" while it is in state "power on".`,
		},
		"which may be unknown": {
			nodetest.In(Active), "error", "", fault.NotAllowed,
			`The requested action "error" can not be performed on node "` + nodetest.UUID + `" while it is in state "None".`,
		},
		"while cleaning": {
			nodetest.In(Cleaning, nodetest.Open(KindClean)), PowerOn, "c1", fault.NotAllowed,
			`The requested action "power on" can not be performed on node "` + nodetest.UUID + `" while it is in state "cleaning".`,
		},
		"while cleaning waits": {
			nodetest.In(CleanWait, nodetest.Open(KindClean)), PowerOff, "", fault.NotAllowed,
			`The requested action "power off" can not be performed on node "` + nodetest.UUID + `" while it is in state "clean wait".`,
		},
		"while a conductor is at work": {nodetest.In(Deploying, nodetest.Open(KindDeploy)), PowerOff, "c1", fault.Conflict, locked},
		"while power changes already":  {nodetest.In(Active, nodetest.Open(KindPower)), PowerOff, "c1", fault.Conflict, locked},
		"while a reboot has begun":     {nodetest.In(Active, nodetest.Open(KindPower), powerOperation(Rebooting, Running)), Rebooting, "c1", fault.Conflict, locked},
		"while the same change undoes": {nodetest.In(Active, nodetest.Open(KindPower), powerOperation(PowerOff, Undoing)), PowerOff, "c1", fault.Conflict, locked},
		"while the same change is told to end": {
			nodetest.In(Active, nodetest.Open(KindPower), powerOperation(PowerOff, Running), asked(AskCancel)), PowerOff, "c1", fault.Conflict, locked,
		},
		"while the same change is paused": {
			nodetest.In(Active, nodetest.Open(KindPower), powerOperation(PowerOff, Waiting), func(n *Node) { n.Operation.Paused = true }), PowerOff, "c1", fault.Conflict, locked,
		},
		"while the waiting operation is told to stop": {nodetest.In(DeployWait, nodetest.Open(KindDeploy), asked(AskAbort)), PowerOff, "", fault.Conflict, stuck},
		"where it must not be off": {
			nodetest.In(Active, func(n *Node) { n.DisablePowerOff = true }), PowerOff, "", fault.Invalid,
			"Node " + nodetest.UUID + " can not be powered off: its disable_power_off is set.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := admission.Power(c.n, c.target, c.reservation)
			require.EqualError(t, err, c.words)
			require.Equal(t, c.kind, fault.KindOf(err))
		})
	}
	require.Equal(t, 27, PowerMinor(SoftRebooting))
	require.Equal(t, 1, PowerMinor(Rebooting))
}

func TestAHostileWordIsNotRepeatedWhole(t *testing.T) {
	_, err := admission.Verb(nodetest.In(Active), VerbOf(strings.Repeat("x", 1<<20)), "")
	require.Less(t, len(err.Error()), 300)
}

func TestANodeThatMayNotBeOffIsNotTakenThroughOff(t *testing.T) {
	for target, s := range map[string]State{"active": Available, "rebuild": Active, "deleted": Active, "provide": Manageable, "clean": Manageable} {
		n := &Node{UUID: "u", Driver: "redfish", ProvisionState: s, DisablePowerOff: true, Interfaces: map[string]string{"deploy": "direct"}}
		_, err := admission.Verb(n, VerbOf(target), "")
		require.True(t, fault.Is(err, fault.Invalid), "%s: %v", target, err)
		require.ErrorContains(t, err, "disable_power_off")
	}
	n := &Node{UUID: "u", Driver: "redfish", ProvisionState: Enroll, DisablePowerOff: true, Interfaces: map[string]string{"deploy": "direct"}}
	_, err := admission.Verb(n, VerbOf("manage"), "")
	require.NoError(t, err, "verifying only reads")
}
