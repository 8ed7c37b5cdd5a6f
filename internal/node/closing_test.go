package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
)

// at is a node that an operation of kind k has brought into s.
func at(k Kind, s State, more ...func(*Node)) *Node {
	n := in(s)
	n.Operation = &Operation{ID: 7, NodeUUID: uuid, Kind: k, Phase: Running, Target: aims[k]}
	n.TargetProvisionState = TargetIn(s, aims[k])
	for _, f := range more {
		f(n)
	}
	return n
}

var aims = map[Kind]State{
	KindManage: Manageable, KindProvide: Available, KindClean: Manageable, KindInspect: Manageable,
	KindDeploy: Active, KindRebuild: Active, KindUndeploy: Available,
}

func steps(s ...Step) func(*Node) { return func(n *Node) { n.Operation.Steps = s } }

func TestClosing(t *testing.T) {
	prepare := Step{Interface: "deploy", Step: StepPrepareCleaning, Source: SourceCore, State: StepDone}
	erase := Step{Interface: "deploy", Step: "erase_devices", Source: SourceAgent, State: StepFailed}
	failed, cancelled, ok := End{Outcome: Failed, Error: "boom"}, End{Outcome: Cancelled}, End{Outcome: Succeeded}
	to := func(from, to, target State) Moved { return Moved{From: from, To: to, Target: target} }
	cleared := func(m Moved) Moved { m.ClearInstance = true; return m }
	clock := func(m Moved, c InspectionClock) Moved { m.Inspection = c; return m }
	for name, c := range map[string]struct {
		n    *Node
		end  End
		want Effects
	}{
		"verified": {at(KindManage, Verifying), ok, Effects{Moved: to(Verifying, Manageable, ""), Events: []Event{EventDone}}},
		"verify failure goes back to enroll with the error": {
			at(KindManage, Verifying), failed,
			Effects{Moved: to(Verifying, Enroll, ""), Events: []Event{EventFail}, LastError: "boom"},
		},
		"provided": {at(KindProvide, Cleaning), ok, Effects{Moved: to(Cleaning, Available, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"a node retired meanwhile is not provided": {
			at(KindProvide, Cleaning, retired), ok,
			Effects{Moved: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true},
		},
		"cleaned by hand": {at(KindClean, Cleaning), ok, Effects{Moved: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true}},
		"a clean step failed": {
			at(KindClean, CleanWait, steps(prepare, erase)), failed,
			Effects{
				Moved: to(CleanWait, CleanFailed, Manageable), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"a reason that an operator gave stays": {
			at(KindProvide, Cleaning, steps(erase), maintenance, func(n *Node) { n.MaintenanceReason = "mine" }), failed,
			Effects{
				Moved: to(Cleaning, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "mine", Fault: FaultClean,
			},
		},
		"the agent never came for cleaning: no maintenance": {
			at(KindProvide, CleanWait, steps(Step{Step: StepPrepareCleaning, Source: SourceCore, State: StepFailed})), failed,
			Effects{Moved: to(CleanWait, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"the agent did not come back from a clean step's reboot: maintenance": {
			at(KindClean, CleanWait, steps(prepare, Step{Interface: "deploy", Step: "erase_devices", Source: SourceAgent, State: StepWaiting})), failed,
			Effects{
				Moved: to(CleanWait, CleanFailed, Manageable), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"cleaning aborted: no maintenance, the state was shown at once": {
			at(KindClean, CleanFailed, steps(prepare, erase)), cancelled,
			Effects{Moved: to(CleanFailed, CleanFailed, Manageable), LastError: "By request, the clean operation was aborted", ClearAgent: true},
		},
		"cleaning cancelled in a hold": {
			at(KindClean, CleanHold), cancelled,
			Effects{Moved: to(CleanHold, CleanFailed, Manageable), Events: []Event{EventAbort}, LastError: "By request, the clean operation was aborted", ClearAgent: true},
		},
		"inspected": {
			at(KindInspect, Inspecting), ok,
			Effects{Moved: clock(to(Inspecting, Manageable, ""), InspectionEnds), Events: []Event{EventDone}, ClearAgent: true},
		},
		"inspected from the wait": {
			at(KindInspect, InspectWait), ok,
			Effects{Moved: clock(to(InspectWait, Manageable, ""), InspectionEnds), Events: []Event{EventDone}, ClearAgent: true},
		},
		"inspection failed": {
			at(KindInspect, InspectWait), failed,
			Effects{Moved: clock(to(InspectWait, InspectFailed, Manageable), InspectionFails), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"inspection aborted": {
			at(KindInspect, InspectFailed), cancelled,
			Effects{Moved: clock(to(InspectFailed, InspectFailed, Manageable), InspectionFails), LastError: "Inspection was aborted by request.", ClearAgent: true},
		},
		"deployed": {at(KindDeploy, Deploying), ok, Effects{Moved: to(Deploying, Active, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"deploy ended while it waited": {
			at(KindRebuild, DeployWait), ok,
			Effects{Moved: to(DeployWait, Active, ""), Events: []Event{EventResume, EventDone}, ClearAgent: true},
		},
		"deploy failed keeps target and instance": {
			at(KindDeploy, Deploying, steps(erase)), failed,
			Effects{Moved: to(Deploying, DeployFailed, Active), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"deploy cancelled": {
			at(KindDeploy, DeployWait), cancelled,
			Effects{Moved: to(DeployWait, DeployFailed, Active), Events: []Event{EventFail}, LastError: "By request, the deploy operation was aborted", ClearAgent: true},
		},
		"deploy cancelled in a hold": {
			at(KindDeploy, DeployHold), cancelled,
			Effects{Moved: to(DeployHold, DeployFailed, Active), Events: []Event{EventAbort}, LastError: "By request, the deploy operation was aborted", ClearAgent: true},
		},
		"deleted while it waited: the next operation gives it back": {
			at(KindDeploy, Deleting), cancelled,
			Effects{Moved: to(Deleting, Deleting, Available), ClearAgent: true, FollowUp: KindUndeploy},
		},
		"deleted, and failed on the way": {
			at(KindDeploy, Deleting), failed,
			Effects{Moved: to(Deleting, Deleting, Available), ClearAgent: true, FollowUp: KindUndeploy},
		},
		"given back and cleaned": {at(KindUndeploy, Cleaning), ok, Effects{Moved: to(Cleaning, Available, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"given back, cleaning is off": {
			at(KindUndeploy, Deleting), ok,
			Effects{Moved: cleared(to(Deleting, Available, "")), Events: []Event{EventClean, EventDone}, ClearAgent: true},
		},
		"a retired node given back": {at(KindUndeploy, Cleaning, retired), ok, Effects{Moved: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true}},
		"tear-down failed: the instance is gone all the same": {
			at(KindUndeploy, Deleting), failed,
			Effects{Moved: cleared(to(Deleting, ErrorState, "")), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"given back, cleaning failed": {
			at(KindUndeploy, Cleaning, steps(erase)), failed,
			Effects{
				Moved: to(Cleaning, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"power changed": {at(KindPower, Active), ok, Effects{Moved: to(Active, Active, "")}},
		"power failed in a failed state": {
			at(KindPower, CleanFailed, func(n *Node) { n.TargetProvisionState = Manageable }), failed,
			Effects{Moved: to(CleanFailed, CleanFailed, Manageable), LastError: "boom"},
		},
		"what was not undone is owed, once": {at(KindDeploy, DeployFailed, func(n *Node) {
			n.Owed, n.Operation.Undo = []Undo{UndoPowerOff}, []Undo{UndoEjectMedia, UndoPowerOff}
		}), failed, Effects{Moved: to(DeployFailed, DeployFailed, Active), LastError: "boom", ClearAgent: true, Owed: []Undo{UndoPowerOff, UndoEjectMedia}}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Closing(c.n, c.end)
			require.NoError(t, err)
			require.Equal(t, c.want, e)
		})
	}
	_, err := Closing(in(Active), ok)
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

// Wherever an operation can be and however it ends, the node comes to rest: the
// way is the table's and ends outside the transient states, or another
// operation follows at once.
func TestAfterClosingNoNodeIsStuck(t *testing.T) {
	runs := map[Kind][]State{
		KindManage:  {Verifying},
		KindProvide: {Cleaning, CleanWait, CleanHold, CleanFailed}, KindClean: {Cleaning, CleanWait, CleanHold, CleanFailed},
		KindInspect: {Inspecting, InspectWait, InspectFailed},
		KindDeploy:  {Deploying, DeployWait, DeployHold, DeployFailed, Deleting}, KindRebuild: {Deploying, DeployWait, DeployHold, DeployFailed, Deleting},
		KindUndeploy: {Deleting, Cleaning, CleanWait, CleanHold, CleanFailed, ErrorState},
		KindPower:    {Enroll, Manageable, Available, Active, DeployFailed, CleanFailed},
	}
	for _, k := range Kinds {
		for _, s := range runs[k] {
			for _, out := range []Outcome{Succeeded, Failed, Cancelled} {
				for _, isRetired := range []bool{false, true} {
					n := at(k, s, func(n *Node) { n.Retired = isRetired })
					e, err := Closing(n, End{Outcome: out})
					require.NoError(t, err, "%s in %s: %s", k, s, out)
					require.Equal(t, e.FollowUp == "", !Transient(e.To), "%s in %s: %s", k, s, out)
					if Stable(e.To) {
						require.Empty(t, e.Target)
					} else {
						require.NotEmpty(t, e.Target)
					}
					if out != Succeeded && e.FollowUp == "" {
						require.NotEmpty(t, e.LastError)
					}
				}
			}
		}
	}
}

func TestMovesOfARunningOperation(t *testing.T) {
	m, err := Move(at(KindClean, Cleaning), EventWait)
	require.NoError(t, err)
	require.Equal(t, Moved{From: Cleaning, To: CleanWait, Target: Manageable}, m)
	m, err = Move(at(KindUndeploy, Deleting), EventClean)
	require.NoError(t, err)
	require.Equal(t, Moved{From: Deleting, To: Cleaning, Target: Available, ClearInstance: true}, m)
	_, err = Move(at(KindDeploy, DeployFailed), EventResume)
	require.Equal(t, fault.NotAllowed, fault.KindOf(err))

	n := in(Manageable)
	d, err := Admit(n, VerbOf("inspect"), "")
	require.NoError(t, err)
	require.Equal(t, Moved{From: Manageable, To: Inspecting, Target: Manageable, Inspection: InspectionStarts}, Admitted(n, d))
}

func TestAnUndoThatIsDoneIsToldInTheLastError(t *testing.T) {
	n := &Node{
		ProvisionState: DeployFailed, LastError: "no disk; what it left is still to be undone: the node is in maintenance",
		Operation: &Operation{ID: 14, Kind: KindUndo},
	}
	for outcome, want := range map[Outcome]string{
		Failed:    n.LastError,
		Succeeded: "no disk; what it left is undone since, by operation 14",
	} {
		e, err := Closing(n, End{Operation: 14, Outcome: outcome})
		require.NoError(t, err)
		require.Equal(t, want, e.LastError)
	}
}
