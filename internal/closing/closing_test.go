package closing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
)

// at is a node that an operation of kind k has brought into s.
func at(k OperationKind, s State, more ...func(*Node)) *Node {
	n := nodetest.In(s)
	n.Operation = &Operation{ID: 7, NodeUUID: nodetest.UUID, Kind: k, Phase: Running, Target: aims[k]}
	n.TargetProvisionState = TargetIn(s, aims[k])
	for _, f := range more {
		f(n)
	}
	return n
}

var aims = map[OperationKind]State{
	KindManage: Manageable, KindProvide: Available, KindClean: Manageable, KindInspect: Manageable,
	KindDeploy: Active, KindRebuild: Active, KindUndeploy: Available,
	KindRescue: Rescue, KindUnrescue: Active, KindAdopt: Active, KindService: Active,
}

func steps(s ...Step) func(*Node) { return func(n *Node) { n.Operation.Steps = s } }

func TestClosing(t *testing.T) {
	prepare := Step{Interface: "deploy", Step: StepPrepareCleaning, Source: SourceCore, State: StepDone}
	erase := Step{Interface: "deploy", Step: "erase_devices", Source: SourceAgent, State: StepFailed}
	failed, cancelled, ok := End{Outcome: Failed, Error: "boom"}, End{Outcome: Cancelled}, End{Outcome: Succeeded}
	to := func(from, to, target State) Transition { return Transition{From: from, To: to, Target: target} }
	cleared := func(m Transition) Transition { m.ClearInstance = true; return m }
	clock := func(m Transition, c InspectionClock) Transition { m.Inspection = c; return m }
	for name, c := range map[string]struct {
		n    *Node
		end  End
		want closing.Ending
	}{
		"verified": {at(KindManage, Verifying), ok, closing.Ending{Transition: to(Verifying, Manageable, ""), Events: []Event{EventDone}}},
		"verify failure goes back to enroll with the error": {
			at(KindManage, Verifying), failed,
			closing.Ending{Transition: to(Verifying, Enroll, ""), Events: []Event{EventFail}, LastError: "boom"},
		},
		"provided": {at(KindProvide, Cleaning), ok, closing.Ending{Transition: to(Cleaning, Available, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"a node retired meanwhile is not provided": {
			at(KindProvide, Cleaning, retired), ok,
			closing.Ending{Transition: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true},
		},
		"cleaned by hand": {at(KindClean, Cleaning), ok, closing.Ending{Transition: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true}},
		"a clean step failed": {
			at(KindClean, CleanWait, steps(prepare, erase)), failed,
			closing.Ending{
				Transition: to(CleanWait, CleanFailed, Manageable), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"a reason that an operator gave stays": {
			at(KindProvide, Cleaning, steps(erase), maintenance, func(n *Node) { n.MaintenanceReason = "mine" }), failed,
			closing.Ending{
				Transition: to(Cleaning, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "mine", Fault: FaultClean,
			},
		},
		"the agent never came for cleaning: no maintenance": {
			at(KindProvide, CleanWait, steps(Step{Step: StepPrepareCleaning, Source: SourceCore, State: StepFailed})), failed,
			closing.Ending{Transition: to(CleanWait, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"the agent did not come back from a clean step's reboot: maintenance": {
			at(KindClean, CleanWait, steps(prepare, Step{Interface: "deploy", Step: "erase_devices", Source: SourceAgent, State: StepWaiting})), failed,
			closing.Ending{
				Transition: to(CleanWait, CleanFailed, Manageable), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"cleaning aborted: no maintenance, the state was shown at once": {
			at(KindClean, CleanFailed, steps(prepare, erase)), cancelled,
			closing.Ending{Transition: to(CleanFailed, CleanFailed, Manageable), LastError: "By request, the clean operation was aborted", ClearAgent: true},
		},
		"cleaning cancelled in a hold": {
			at(KindClean, CleanHold), cancelled,
			closing.Ending{Transition: to(CleanHold, CleanFailed, Manageable), Events: []Event{EventAbort}, LastError: "By request, the clean operation was aborted", ClearAgent: true},
		},
		"rescued": {
			at(KindRescue, RescueWait), ok,
			closing.Ending{Transition: to(RescueWait, Rescue, ""), Events: []Event{EventResume, EventDone}, ClearAgent: true},
		},
		"a rescue failed": {
			at(KindRescue, RescueWait), failed,
			closing.Ending{Transition: to(RescueWait, RescueFailed, Rescue), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"adopted": {at(KindAdopt, Adopting), ok, closing.Ending{Transition: to(Adopting, Active, ""), Events: []Event{EventDone}}},
		"an adoption failed": {
			at(KindAdopt, Adopting), failed,
			closing.Ending{Transition: to(Adopting, AdoptFailed, Active), Events: []Event{EventFail}, LastError: "boom"},
		},
		"serviced from the wait": {
			at(KindService, ServiceWait), ok,
			closing.Ending{Transition: to(ServiceWait, Active, ""), Events: []Event{EventResume, EventDone}, ClearAgent: true},
		},
		"a service step failed": {
			at(KindService, Servicing, steps(Step{Interface: "bios", Step: "factory_reset", Source: SourceDriver, State: StepFailed})), failed,
			closing.Ending{
				Transition: to(Servicing, ServiceFailed, Active), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultService,
			},
		},
		"deleted during a service": {
			at(KindService, Deleting), cancelled,
			closing.Ending{Transition: to(Deleting, Deleting, Available), ClearAgent: true, FollowUp: KindUndeploy},
		},
		"back from the rescue": {at(KindUnrescue, Unrescuing), ok, closing.Ending{Transition: to(Unrescuing, Active, ""), Events: []Event{EventDone}}},
		"inspected": {
			at(KindInspect, Inspecting), ok,
			closing.Ending{Transition: clock(to(Inspecting, Manageable, ""), InspectionEnds), Events: []Event{EventDone}, ClearAgent: true},
		},
		"inspected from the wait": {
			at(KindInspect, InspectWait), ok,
			closing.Ending{Transition: clock(to(InspectWait, Manageable, ""), InspectionEnds), Events: []Event{EventDone}, ClearAgent: true},
		},
		"inspection failed": {
			at(KindInspect, InspectWait), failed,
			closing.Ending{Transition: clock(to(InspectWait, InspectFailed, Manageable), InspectionFails), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"inspection aborted": {
			at(KindInspect, InspectFailed), cancelled,
			closing.Ending{Transition: to(InspectFailed, InspectFailed, Manageable), LastError: "Inspection was aborted by request.", ClearAgent: true},
		},
		"deployed": {at(KindDeploy, Deploying), ok, closing.Ending{Transition: to(Deploying, Active, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"deploy ended while it waited": {
			at(KindRebuild, DeployWait), ok,
			closing.Ending{Transition: to(DeployWait, Active, ""), Events: []Event{EventResume, EventDone}, ClearAgent: true},
		},
		"deploy failed keeps target and instance": {
			at(KindDeploy, Deploying, steps(erase)), failed,
			closing.Ending{Transition: to(Deploying, DeployFailed, Active), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"deploy cancelled": {
			at(KindDeploy, DeployWait), cancelled,
			closing.Ending{Transition: to(DeployWait, DeployFailed, Active), Events: []Event{EventFail}, LastError: "By request, the deploy operation was aborted", ClearAgent: true},
		},
		"deploy cancelled in a hold": {
			at(KindDeploy, DeployHold), cancelled,
			closing.Ending{Transition: to(DeployHold, DeployFailed, Active), Events: []Event{EventAbort}, LastError: "By request, the deploy operation was aborted", ClearAgent: true},
		},
		"deleted while it waited: the next operation gives it back": {
			at(KindDeploy, Deleting), cancelled,
			closing.Ending{Transition: to(Deleting, Deleting, Available), ClearAgent: true, FollowUp: KindUndeploy},
		},
		"deleted, and failed on the way": {
			at(KindDeploy, Deleting), failed,
			closing.Ending{Transition: to(Deleting, Deleting, Available), ClearAgent: true, FollowUp: KindUndeploy},
		},
		"given back and cleaned": {at(KindUndeploy, Cleaning), ok, closing.Ending{Transition: to(Cleaning, Available, ""), Events: []Event{EventDone}, ClearAgent: true}},
		"given back, cleaning is off": {
			at(KindUndeploy, Deleting), ok,
			closing.Ending{Transition: cleared(to(Deleting, Available, "")), Events: []Event{EventClean, EventDone}, ClearAgent: true},
		},
		"a retired node given back": {at(KindUndeploy, Cleaning, retired), ok, closing.Ending{Transition: to(Cleaning, Manageable, ""), Events: []Event{EventManage}, ClearAgent: true}},
		"tear-down failed: the instance is gone all the same": {
			at(KindUndeploy, Deleting), failed,
			closing.Ending{Transition: cleared(to(Deleting, ErrorState, "")), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true},
		},
		"given back, cleaning failed": {
			at(KindUndeploy, Cleaning, steps(erase)), failed,
			closing.Ending{
				Transition: to(Cleaning, CleanFailed, Available), Events: []Event{EventFail}, LastError: "boom", ClearAgent: true,
				SetMaintenance: true, MaintenanceReason: "boom", Fault: FaultClean,
			},
		},
		"power changed": {at(KindPower, Active), ok, closing.Ending{Transition: to(Active, Active, "")}},
		"power failed in a failed state": {
			at(KindPower, CleanFailed, func(n *Node) { n.TargetProvisionState = Manageable }), failed,
			closing.Ending{Transition: to(CleanFailed, CleanFailed, Manageable), LastError: "boom"},
		},
		"a boot device was set": {
			at(KindBootDevice, DeployFailed, func(n *Node) { n.LastError, n.Owed = "boom before", []Undo{UndoPowerOff, UndoClearBoot} }),
			ok,
			closing.Ending{Transition: to(DeployFailed, DeployFailed, Active), LastError: "boom before", Owed: []Undo{UndoPowerOff}},
		},
		"a boot mode was set after one had failed": {
			at(KindBootMode, Available, func(n *Node) { n.LastError = "boom before" }), ok, closing.Ending{Transition: to(Available, Available, "")},
		},
		"media were detached from a node that failed": {
			at(KindDetachMedia, DeployFailed, func(n *Node) { n.LastError = "boom before" }), ok,
			closing.Ending{Transition: to(DeployFailed, DeployFailed, Active), LastError: "boom before"},
		},
		"an NMI failed": {
			at(KindNMI, Active, func(n *Node) { n.LastError = "boom before" }), failed, closing.Ending{Transition: to(Active, Active, ""), LastError: "boom before"},
		},
		"what was not undone is owed, once": {at(KindDeploy, DeployFailed, func(n *Node) {
			n.Owed, n.Operation.Undo = []Undo{UndoPowerOff}, []Undo{UndoEjectMedia, UndoPowerOff}
		}), failed, closing.Ending{Transition: to(DeployFailed, DeployFailed, Active), LastError: "boom", ClearAgent: true, Owed: []Undo{UndoPowerOff, UndoEjectMedia}}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := closing.Operation(c.n, c.end)
			require.NoError(t, err)
			require.NotEmpty(t, e.History.Event)
			require.Equal(t, c.end.Outcome == Succeeded, e.Failure == Failure{})
			e.History, e.Failure = HistoryEvent{}, Failure{}
			require.Equal(t, c.want, e)
		})
	}
	_, err := closing.Operation(nodetest.In(Active), ok)
	require.Equal(t, fault.Internal, fault.KindOf(err))
}

// Wherever an operation can be and however it ends, the node comes to rest: the
// way is the table's and ends outside the transient states, or another
// operation follows at once.
func TestAfterClosingNoNodeIsStuck(t *testing.T) {
	runs := map[OperationKind][]State{
		KindManage:  {Verifying},
		KindProvide: {Cleaning, CleanWait, CleanHold, CleanFailed}, KindClean: {Cleaning, CleanWait, CleanHold, CleanFailed},
		KindInspect: {Inspecting, InspectWait, InspectFailed},
		KindDeploy:  {Deploying, DeployWait, DeployHold, DeployFailed, Deleting}, KindRebuild: {Deploying, DeployWait, DeployHold, DeployFailed, Deleting},
		KindUndeploy: {Deleting, Cleaning, CleanWait, CleanHold, CleanFailed, ErrorState},
		KindRescue:   {Rescuing, RescueWait, RescueFailed, Deleting}, KindUnrescue: {Unrescuing, UnrescueFailed},
		KindPower: {Enroll, Manageable, Available, Active, DeployFailed, CleanFailed},
	}
	for _, k := range Kinds() {
		for _, s := range runs[k] {
			for _, out := range []Outcome{Succeeded, Failed, Cancelled} {
				for _, isRetired := range []bool{false, true} {
					n := at(k, s, func(n *Node) { n.Retired = isRetired })
					e, err := closing.Operation(n, End{Outcome: out})
					require.NoError(t, err, "%s in %s: %s", k, s, out)
					require.Equal(t, e.FollowUp == "", !Transient(e.To), "%s in %s: %s", k, s, out)
					if ClassOf(e.To) == ClassStable {
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
	require.Equal(t, Transition{From: Cleaning, To: CleanWait, Target: Manageable}, m)
	m, err = Move(at(KindUndeploy, Deleting), EventClean)
	require.NoError(t, err)
	require.Equal(t, Transition{From: Deleting, To: Cleaning, Target: Available, ClearInstance: true}, m)
	_, err = Move(at(KindDeploy, DeployFailed), EventResume)
	require.Equal(t, fault.NotAllowed, fault.KindOf(err))

	n := nodetest.In(Manageable)
	d, err := admission.Verb(n, VerbOf("inspect"), "")
	require.NoError(t, err)
	n.Operation = &Operation{Kind: d.Open, Target: d.Target}
	m, err = Move(n, d.Move...)
	require.NoError(t, err)
	require.Equal(t, Transition{From: Manageable, To: Inspecting, Target: Manageable, Inspection: InspectionStarts}, m)
	m, err = Move(at(KindClean, CleanWait), EventAbort)
	require.NoError(t, err)
	require.Equal(t, Transition{From: CleanWait, To: CleanFailed, Target: Manageable}, m, "cleaning by hand keeps its target")
	m, err = Move(at(KindDeploy, Deploying), EventFail, EventDelete)
	require.NoError(t, err)
	require.Equal(t, Transition{From: Deploying, To: Deleting, Target: Available}, m)
	m, err = Move(at(KindPower, CleanFailed, func(n *Node) { n.TargetProvisionState = Manageable }))
	require.NoError(t, err)
	require.Equal(t, Transition{From: CleanFailed, To: CleanFailed, Target: Manageable}, m)
}

// As in Ironic (conductor/utils.py, node_power_action): why a node is in a failed
// state outlasts a power request.
func TestAPowerRequestKeepsWhyTheNodeIsInAFailedState(t *testing.T) {
	const deploy = "no disk"
	failed, ok := End{Outcome: Failed, Error: "no BMC"}, End{Outcome: Succeeded}
	for name, c := range map[string]struct {
		state State
		last  string
		ends  []End
		want  string
	}{
		"after a failed deploy":            {DeployFailed, deploy, []End{ok}, deploy},
		"after a failed deletion":          {ErrorState, deploy, []End{ok}, deploy},
		"in a state that is no failure":    {Active, "no BMC", []End{ok}, ""},
		"one that fails says so first":     {CleanFailed, deploy, []End{failed}, "no BMC; before that: no disk"},
		"also twice":                       {CleanFailed, deploy, []End{failed, failed}, "no BMC; before that: no disk"},
		"until one succeeds":               {CleanFailed, deploy, []End{failed, failed, ok}, deploy},
		"where nobody said what it failed": {CleanFailed, "", []End{failed}, "no BMC"},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodetest.In(c.state)
			n.LastError, n.PowerState = c.last, PowerOff
			for _, end := range c.ends {
				d, err := admission.Power(n, PowerOn, "")
				require.NoError(t, err)
				d.Apply(n)
				n.Operation = &Operation{ID: 7, Kind: KindPower}
				e, err := closing.Operation(n, end)
				require.NoError(t, err)
				n.LastError, n.Operation = e.LastError, nil
			}
			require.Equal(t, c.want, n.LastError)
		})
	}
}

func TestWhatIsOwedAfterAnOperation(t *testing.T) {
	power := func(o *Operation) { o.Kind = KindPower }
	undo := func(o *Operation) { o.Kind = KindUndo }
	for name, c := range map[string]struct {
		owed    []Undo
		why     string
		refused bool
		op      func(*Operation)
		end     End
		want    closing.Ending
	}{
		"an undo that failed says why": {
			[]Undo{UndoEjectMedia},
			"", true, undo,
			End{Outcome: Failed, Error: "400"},
			closing.Ending{Owed: []Undo{UndoEjectMedia}, OwedError: "400", OwedRefused: true},
		},
		"one that was stopped says nothing": {
			[]Undo{UndoEjectMedia}, "400", false, undo, End{Outcome: Cancelled}, closing.Ending{Owed: []Undo{UndoEjectMedia}, OwedError: "400"},
		},
		"nothing is owed, nothing was refused": {nil, "400", true, undo, End{Outcome: Succeeded}, closing.Ending{}},
		"a new debt may be paid": {
			[]Undo{UndoEjectMedia},
			"400", true, func(o *Operation) { o.Undo = []Undo{UndoPowerOff} },
			End{Outcome: Failed, Error: "no disk" + UndoLeft + "503"},
			closing.Ending{Owed: []Undo{UndoEjectMedia, UndoPowerOff}, OwedError: "503"},
		},
		"who asked for the power has said whether it is to be on": {
			[]Undo{UndoPowerOff, UndoEjectMedia},
			"400", true, power,
			End{Outcome: Succeeded},
			closing.Ending{Owed: []Undo{UndoEjectMedia}, OwedError: "400", OwedRefused: true},
		},
		"but not where that failed": {
			[]Undo{UndoPowerOff}, "", false, power, End{Outcome: Failed, Error: "x"}, closing.Ending{Owed: []Undo{UndoPowerOff}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := at(KindDeploy, DeployFailed)
			n.Owed, n.OwedError, n.OwedRefused = c.owed, c.why, c.refused
			c.op(n.Operation)
			e, err := closing.Operation(n, c.end)
			require.NoError(t, err)
			require.Equal(t, c.want.Owed, e.Owed)
			require.Equal(t, c.want.OwedError, e.OwedError)
			require.Equal(t, c.want.OwedRefused, e.OwedRefused)
		})
	}
}

// Who asked for the power has said whether the server is to be on: nothing is owed any more.
func TestAPowerRequestThatDoesWhatIsOwedIsToldInTheLastError(t *testing.T) {
	for outcome, want := range map[Outcome]string{
		Failed:    "no BMC; before that: no disk; what it left is still to be undone: no answer",
		Succeeded: "no disk; what it left is undone since, by operation 15",
	} {
		n := &Node{
			ProvisionState: DeployFailed, LastError: "no disk; what it left is still to be undone: no answer", Owed: []Undo{UndoPowerOff},
			Operation: &Operation{ID: 15, Kind: KindPower},
		}
		end := End{Operation: 15, Outcome: outcome}
		if outcome == Failed {
			end.Error = "no BMC"
		}
		e, err := closing.Operation(n, end)
		require.NoError(t, err)
		require.Equal(t, want, e.LastError)
	}
}

func TestTheCauseOfAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		op   func(*Operation)
		end  End
		want Failure
	}{
		"success":                 {nil, End{Outcome: Succeeded, Error: "x"}, Failure{}},
		"a failure":               {nil, End{Outcome: Failed, Error: "no answer", Cause: fault.BMCSilent}, Failure{Error: "no answer", Cause: fault.BMCSilent}},
		"of an older version":     {nil, End{Outcome: Failed, Error: "no answer"}, Failure{Error: "no answer", Cause: fault.InternalError}},
		"without words":           {nil, End{Outcome: Failed}, Failure{Error: "The deploy operation failed; nobody said why", Cause: fault.InternalError}},
		"cancelled":               {func(o *Operation) { o.Asked = AskCancel }, End{Outcome: Cancelled}, Failure{Error: "By request, the deploy operation was aborted", Cause: fault.CancelledByPerson}},
		"deleted while it waited": {func(o *Operation) { o.Asked = AskDelete }, End{Outcome: Cancelled}, Failure{Error: "By request, the deploy operation was aborted", Cause: fault.CancelledByPerson}},
		"aborted":                 {func(o *Operation) { o.Asked = AskAbort }, End{Outcome: Cancelled}, Failure{Error: "By request, the deploy operation was aborted", Cause: fault.AbortedByPerson}},
		"aborted by a decision": {
			func(o *Operation) { o.Asked, o.Decisions = AskCancel, []DecisionRecord{{Action: ActionAbort}} },
			End{Outcome: Cancelled},
			Failure{Error: "By request, the deploy operation was aborted", Cause: fault.AbortedByPerson},
		},
		"ended by a person after its workflow was": {
			func(o *Operation) { o.Asked = AskCancel },
			End{Outcome: Cancelled, Error: "its workflow was terminated", Cause: fault.WorkflowTerminated},
			Failure{Error: "its workflow was terminated", Cause: fault.CancelledByPerson},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := at(KindDeploy, Deploying)
			if c.op != nil {
				c.op(n.Operation)
			}
			e, err := closing.Operation(n, c.end)
			require.NoError(t, err)
			require.Equal(t, c.want, e.Failure)
			require.Equal(t, c.want.Error, e.LastError, "the node's and the operation's error are the same")
		})
	}
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
		e, err := closing.Operation(n, End{Operation: 14, Outcome: outcome})
		require.NoError(t, err)
		require.Equal(t, want, e.LastError)
	}
}

func retired(n *Node) { n.Retired = true }

func maintenance(n *Node) { n.Maintenance = true }
