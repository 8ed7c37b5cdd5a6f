package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// destroys reports whether a would end the node's work, lose its data, or take it from somebody.
func destroys(a help.Action) bool {
	switch a.Do {
	case fault.CancelOperation, fault.TakeNode, fault.WaiveUndo:
		return true
	case fault.Decide:
		return a.Decision == node.ActionAbort
	case fault.ChangeState:
		return a.Event == node.EventDelete || a.Event == node.EventRebuild || a.Event == node.EventClean
	}
	return false
}

// What mends a cause comes first, then the retry, and only then what gives the work up, for an operation that failed and for one
// that holds.
func TestWhatMendsTheCauseComesBeforeTheRetry(t *testing.T) {
	now := time.Now()
	for _, cause := range fault.Causes() {
		failed := &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Outcome: node.Failed, Cause: cause, Error: "no"}
		held := &node.Operation{
			ID: 7, Driver: "redfish", Kind: node.KindDeploy, Phase: node.Holding, Cause: cause, Error: "no", AcceptedAt: now, WaitingFor: "a decision: retry or abort",
			Steps: []node.Step{{Interface: "deploy", Step: node.StepWriteImage, State: node.StepFailed, LastError: "no", Cause: cause}},
		}
		for name, c := range map[string]struct {
			n     node.Node
			f     Facts
			retry help.Action
		}{
			"failed": {
				node.Node{ProvisionState: node.DeployFailed, LastError: "no", Owed: []node.Undo{node.UndoPowerOff}},
				Facts{Now: now, Covered: true, Previous: failed, Hardware: &inventory.Comparison{}},
				help.Action{Do: fault.RetryOperation, Operation: 7, Kind: node.KindDeploy},
			},
			"held": {node.Node{ProvisionState: node.DeployHold, Operation: held}, Facts{Now: now, Covered: true, Hardware: &inventory.Comparison{}}, help.Action{Do: fault.Decide, Operation: 7, Decision: node.ActionRetry}},
		} {
			t.Run(string(cause)+" "+name, func(t *testing.T) {
				c.n.Driver, c.n.ConsoleEnabled, c.n.Interfaces = "ipmi", true, map[string]string{"console": "ipmitool-socat"}
				e := Node(&c.n, c.f)
				require.Equal(t, cause, e.Cause)
				at := slices.Index(e.Actions, c.retry)
				require.GreaterOrEqual(t, at, 0, "%v", e.Actions)
				var mends []fault.Do
				for _, a := range e.Actions[:at] {
					mends = append(mends, a.Do)
					require.False(t, destroys(a), "%v", a)
				}
				if cause == fault.NoConductor { // one covers the node by now
					require.Empty(t, mends)
					return
				}
				require.Equal(t, cause.Row().Can, mends)
			})
		}
	}
}

// Somebody who cancels because the BMC is dead is told of the BMC first. A retry would wait for it, and the maintenance ends by itself.
func TestASilentBMCIsMendedBeforeWhatWasCancelledIsRetried(t *testing.T) {
	now := time.Now()
	for _, cause := range []fault.Code{fault.CancelledByPerson, fault.AbortedByPerson, fault.EndedByForce} {
		n := node.Node{Driver: "redfish", ProvisionState: node.DeployFailed, LastError: "By request, the deploy operation was aborted"}
		f := Facts{Now: now, Covered: true, Previous: &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Outcome: node.Cancelled, Cause: cause}}
		n.Silence = &node.BMCSilence{BMC: n.BMC(), Since: now, AskedAt: now, AskedBy: "c1", Seen: "no answer"}
		retry := help.Action{Do: fault.RetryOperation, Operation: 7, Kind: node.KindDeploy}
		e := Node(&n, f)
		require.Equal(t, fault.BMCSilent, e.Cause)
		require.Equal(t, []help.Action{{Do: fault.ProbeBMC}, {Do: fault.SetAddress}, retry}, e.Actions[:3])
		require.Contains(t, e.Paragraph(nil), "What to do: "+strings.TrimSuffix(fault.BMCSilent.Row().Advice(), "."))

		n.Maintenance, n.MaintenanceByFault, n.Fault = true, true, node.FaultPower
		e = Node(&n, f)
		require.Equal(t, fault.ProbeBMC, e.Actions[0].Do)
		require.NotContains(t, e.Actions, help.Action{Do: fault.EndMaintenance})
		require.NotContains(t, e.Actions, retry, "it would be refused")
		require.Contains(t, e.Paragraph(nil), "The maintenance ends by itself as soon as a conductor can read the power state again; then operation 7 (deploy) can be retried.")

		n.Silence = nil
		require.Equal(t, cause, Node(&n, f).Cause)
	}
}

func TestNothingDestructiveIsSuggestedForAHealthyActiveNode(t *testing.T) {
	now := time.Now()
	power := &node.Operation{ID: 8, Kind: node.KindPower, Outcome: node.Failed, Cause: fault.BMCSilent, Error: "no"}
	for _, f := range []Facts{{Now: now, Covered: true}, {Now: now}, {Now: now, Covered: true, Previous: power}} {
		for _, maintenance := range []bool{false, true} {
			e := Node(&node.Node{ProvisionState: node.Active, PowerState: node.PowerOn, Maintenance: maintenance}, f)
			for _, a := range e.Actions {
				require.False(t, destroys(a), "%v", a)
				require.NotEqual(t, fault.ChangeState, a.Do, "%v interrupts the server", a)
			}
		}
	}
}

// An undo waits for a silent BMC as a step does, whatever the operation has failed of.
func TestAnUndoThatWaitsForASilentBMCHasItsAdvice(t *testing.T) {
	now := time.Now()
	for _, o := range []*node.Operation{
		{ID: 7, Kind: node.KindDeploy, Driver: "redfish", Phase: node.Undoing, AcceptedAt: now, Cause: fault.ImageDigestDiffers, Error: "another digest", Undo: []node.Undo{node.UndoPowerOff}},
		{ID: 7, Kind: node.KindUndo, Driver: "redfish", Phase: node.Running, AcceptedAt: now},
	} {
		n := &node.Node{Name: "n1", Driver: "redfish", ProvisionState: node.Deploying, Operation: o}
		f := Facts{Now: now, Covered: true}
		require.NotContains(t, Node(n, f).Actions, help.Action{Do: fault.ProbeBMC})
		n.Silence = &node.BMCSilence{BMC: n.BMC(), Since: now, AskedAt: now, AskedBy: "c1", Seen: "no answer"}
		e := Node(n, f)
		require.Equal(t, fault.BMCSilent, e.Cause)
		require.Equal(t, []help.Action{{Do: fault.ProbeBMC}, {Do: fault.WatchOperation, Operation: 7}}, e.Actions[:2])
		require.Contains(t, e.Paragraph(nil), "What to do: "+strings.TrimSuffix(fault.BMCSilent.Row().Advise, "."), "it goes on by itself")
	}
}

// Without Temporal a group of nodes is advised as each of them is.
func TestAGroupIsNotAdvisedWhatWouldBeRefused(t *testing.T) {
	now := time.Now()
	away := status.System{Now: now, Dependencies: status.Dependencies{Temporal: status.Answer{Trouble: status.TemporalAway, Since: now}}}
	n := &node.Node{Driver: "redfish", Operation: &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy}}
	require.Contains(t, OfGroup(node.ReasonLate, fault.BMCSilent, n, status.System{}), help.Action{Do: fault.CancelOperation, Operation: 7})
	for _, reason := range []node.Reason{node.ReasonLate, node.ReasonHeld} {
		require.Equal(t, []help.Action{{Do: fault.ListNeedy, Reason: reason, Cause: fault.BMCSilent}, {Do: fault.ShowStatus}}, OfGroup(reason, fault.BMCSilent, n, away))
	}
	require.Equal(t, "Nothing goes on until that is mended: Temporal does not answer", GroupAdvice(node.ReasonLate, fault.BMCSilent, away))
	require.Contains(t, GroupAdvice(node.ReasonHeld, fault.BMCSilent, away), ". A decision is possible when that is mended (Temporal does not answer)")
	require.NotContains(t, GroupAdvice(node.ReasonHeld, fault.BMCSilent, status.System{}), "decision")
}

// Without a conductor, what finds one comes before what ends the work.
func TestWhatFindsAConductorComesFirst(t *testing.T) {
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Waiting, AcceptedAt: time.Now()}
	e := Node(&node.Node{ProvisionState: node.DeployWait, Operation: o}, Facts{Now: time.Now()})
	require.Equal(t, fault.NoConductor, e.Cause)
	require.Equal(t, help.Action{Do: fault.ListConductors}, e.Actions[0])
}

// The same error is told once, although the operation failed of it and its undo, too.
func TestAnErrorIsToldOnce(t *testing.T) {
	n := &node.Node{
		Name: "n1", ProvisionState: node.DeployFailed, LastError: "401 Unauthorized" + node.UndoLeft + node.SameReason,
		Owed: []node.Undo{node.UndoPowerOff}, OwedError: "401 Unauthorized",
	}
	e := Node(n, Facts{Now: time.Now(), Covered: true})
	require.Equal(t, "Node n1 is deploy failed, nobody holds it: 401 Unauthorized; what it left is still to be undone: the undo failed with the same error. "+
		"Next: an undo of what earlier work left: power off.", e.Paragraph(nil))
}

// A failure that puts its node into maintenance has the same words as the reason of that.
func TestAnErrorIsNotToldAgainAsTheReasonOfMaintenance(t *testing.T) {
	n := &node.Node{
		Name: "n1", ProvisionState: node.CleanFailed, LastError: "no disk.", Maintenance: true, MaintenanceReason: "no disk.", Fault: node.FaultClean,
	}
	e := Node(n, Facts{Now: time.Now(), Covered: true})
	require.Equal(t, "clean failed, nobody holds it: no disk, in maintenance with fault clean failure", e.What)
	require.Equal(t, 1, strings.Count(e.Paragraph(nil), "no disk"), e.Paragraph(nil))
}

// A login that is not repeated has other words than the one that was refused, and is the same trouble.
func TestAWrongPasswordIsToldOnce(t *testing.T) {
	n := &node.Node{
		Name: "n1", ProvisionState: node.DeployFailed, LastError: "401 Unauthorized; read power at A" + node.UndoLeft + node.SameReason,
		Owed: []node.Undo{node.UndoPowerOff}, OwedRefused: true, OwedError: "401 Unauthorized; this login is not tried again before 03:04:05Z; read power at A",
	}
	failed := func(id int64, kind node.OperationKind, cause fault.Code) *node.Operation {
		return &node.Operation{ID: id, Kind: kind, Outcome: node.Failed, Cause: cause, Driver: "redfish"}
	}
	deploy := failed(7, node.KindDeploy, fault.BMCWrongPassword)
	e := Node(n, Facts{Now: time.Now(), Covered: true, Previous: deploy, Undo: failed(8, node.KindUndo, fault.BMCWrongPassword)})
	words := e.Paragraph(nil)
	require.Equal(t, 1, strings.Count(words, "401"), words)
	require.Contains(t, words, "The hardware refused the undo of earlier work: power off. It is tried again when somebody retries it")
	e = Node(n, Facts{Now: time.Now(), Covered: true, Previous: deploy, Undo: failed(8, node.KindUndo, fault.BMCRefuses)})
	require.Contains(t, e.Paragraph(nil), "refused the undo of earlier work: power off ("+n.OwedError+")", "another cause is told")
}

// Who has set the password since the failure is not asked for it again: the retry comes first.
func TestWhatWasMendedSinceIsNotSuggestedAgain(t *testing.T) {
	now := time.Now()
	ended, since := now.Add(-time.Minute), now
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Outcome: node.Failed, Cause: fault.BMCWrongPassword, Error: "401", EndedAt: &ended}
	n := &node.Node{ProvisionState: node.DeployFailed, LastError: "401", ReachedSince: &since}
	explained := func() Explanation { return Node(n, Facts{Now: now, Covered: true, Previous: o}) }
	mended := explained()
	require.Equal(t, fault.RetryOperation, mended.Actions[0].Do)
	require.Contains(t, mended.Paragraph(nil), "What to do: How the BMC is reached was changed at ")
	require.NotContains(t, mended.Paragraph(nil), "Set the right password")
	before := ended.Add(-time.Second)
	n.ReachedSince = &before
	wrong := explained()
	require.Equal(t, fault.SetPassword, wrong.Actions[0].Do)
	require.Contains(t, wrong.Paragraph(nil), "What to do: Set the right password")
}

// The same is true of the image, of an operation that has failed and of one that holds.
func TestAnImageThatWasChangedSinceIsNotSuggestedAgain(t *testing.T) {
	now := time.Now()
	failed, before, since := now.Add(-time.Minute), now.Add(-2*time.Minute), now
	step := node.Step{Interface: "deploy", Step: node.StepWriteImage, State: node.StepFailed, LastError: "no", EndedAt: &failed}
	for cause, first := range map[fault.Code]fault.Do{fault.ImageDigestDiffers: fault.SetDigest, fault.DiskTooSmall: fault.SetImage, fault.NoDiskFits: fault.ShowInventory} {
		ended := &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Outcome: node.Failed, Cause: cause, Error: "no", EndedAt: &failed}
		held := &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Phase: node.Holding, Cause: cause, AcceptedAt: before, Steps: []node.Step{step}}
		for retry, n := range map[fault.Do]*node.Node{
			fault.RetryOperation: {ProvisionState: node.DeployFailed, LastError: "no"},
			fault.Decide:         {ProvisionState: node.DeployHold, Operation: held},
		} {
			n.Driver = "redfish"
			explained := func(prepared *time.Time) Explanation {
				n.PreparedSince = prepared
				return Node(n, Facts{Now: now, Covered: true, Previous: ended, Hardware: &inventory.Comparison{}})
			}
			for _, prepared := range []*time.Time{nil, &before} {
				require.Equal(t, first, explained(prepared).Actions[0].Do)
			}
			mended := explained(&since)
			require.Equal(t, retry, mended.Actions[0].Do, cause)
			require.Contains(t, mended.Paragraph(nil), "What to do: What is deployed, or to which disk, was changed at ")
		}
	}
}

// A deploy whose image crawls is to be cancelled; then another image server is to be set.
func TestAnImageThatCrawlsIsMended(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	now := began.Add(time.Minute)
	step := node.Step{Interface: "deploy", Step: node.StepWriteImage, State: node.StepRunning, StartedAt: &began}
	w := &node.Wait{For: node.WaitCommand, Subject: step.Name(), Since: began}
	for at := began.Add(10 * time.Second); at.Before(now); at = at.Add(10 * time.Second) {
		w.Advance(at.Sub(began).Hours(), 1, at)
		w.Pace(&step, at)
		w.Saw("RUNNING", at)
	}
	o := &node.Operation{ID: 7, Kind: node.KindDeploy, Phase: node.Running, AcceptedAt: began, StepWait: w, Steps: []node.Step{step}}
	e := Node(&node.Node{ProvisionState: node.DeployWait, Operation: o}, Facts{Now: now, Covered: true})
	require.Equal(t, fault.ImageServerSlow, e.Cause)
	require.Equal(t, []string{"It takes unusually long: 1 % was done in 50s; at this pace all of it takes 1 h"}, e.Trouble)
	require.Equal(t, []help.Action{{Do: fault.CancelOperation, Operation: 7}, {Do: fault.WatchOperation, Operation: 7}}, e.Actions)

	step.Cause = o.LateCause(now)
	o.Steps, o.Cause = []node.Step{step}, fault.CancelledByPerson
	o.EndSteps(node.Cancelled, now)
	o.Outcome = node.Cancelled
	e = Node(&node.Node{ProvisionState: node.DeployFailed, LastError: "cancelled"}, Facts{Now: now, Covered: true, Previous: o})
	require.Equal(t, []help.Action{{Do: fault.SetImage}, {Do: fault.RetryOperation, Operation: 7, Kind: node.KindDeploy}}, e.Actions[:2])
	words := e.Paragraph(nil)
	require.Contains(t, words, "When it was ended, step deploy.write_image took unusually long: The image server sends too slowly")
	require.Contains(t, words, "What to do: Look at the load of the image server")
}

func TestANodeWithoutAnImageIsDeployedWithOne(t *testing.T) {
	n := &node.Node{Driver: "redfish", Interfaces: map[string]string{"deploy": "direct"}, ProvisionState: node.Available}
	require.Equal(t, fault.DeployImage, Node(n, Facts{Now: time.Now(), Covered: true}).Actions[0].Do)
	n.InstanceInfo = map[string]any{"image_source": "http://i/a"}
	require.Equal(t, fault.DeployImage, Node(n, Facts{Now: time.Now(), Covered: true}).Actions[0].Do, "without a digest it is refused")
	n.InstanceInfo["image_os_hash_value"] = "abc"
	require.Equal(t, help.Action{Do: fault.ChangeState, Event: node.EventDeploy}, Node(n, Facts{Now: time.Now(), Covered: true}).Actions[0])
}

func TestOfTwoRetriesIsSaidWhichIsWhich(t *testing.T) {
	n := &node.Node{
		ProvisionState: node.DeployFailed, LastError: "no", Owed: []node.Undo{node.UndoPowerOff},
		Driver: "redfish", Interfaces: map[string]string{"deploy": "direct"},
	}
	e := Node(n, Facts{
		Now: time.Now(), Covered: true,
		Previous: &node.Operation{ID: 7, Kind: node.KindDeploy, Outcome: node.Failed}, Undo: &node.Operation{ID: 8, Kind: node.KindUndo, Outcome: node.Failed},
	})
	require.Contains(t, e.Paragraph([]string{"x"}), ". Retry one of them: operation 7 (deploy) does its work again, and the undo with it; operation 8 (undo) does only the undo. You can: x.")
}

// The disks of a node that was never inspected are not known, so that nothing would show their serial numbers.
func TestTheInventoryIsNamedOnlyIfThereIsOne(t *testing.T) {
	failed := &node.Operation{ID: 7, Driver: "redfish", Kind: node.KindDeploy, Outcome: node.Failed, Cause: fault.NoDiskFits, Error: "no"}
	for _, found := range []*inventory.Comparison{nil, {}} {
		e := Node(&node.Node{Driver: "redfish", ProvisionState: node.DeployFailed, LastError: "no"}, Facts{Now: time.Now(), Covered: true, Previous: failed, Hardware: found})
		require.Equal(t, found != nil, slices.Contains(e.Actions, help.Action{Do: fault.ShowInventory}))
		require.Equal(t, found == nil, strings.Contains(strings.Join(e.Notes, ". "), "It was never inspected"))
	}
}
