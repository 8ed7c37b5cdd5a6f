package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// pausedAt is a pause in Temporal that began that long ago.
func pausedAt(what node.PauseOf, ago time.Duration) *node.Pause {
	return &node.Pause{What: what, At: time.Now().Add(-ago).UTC().Truncate(time.Microsecond), By: "ann@desk", Reason: "let me look"}
}

func (r *records) operation(id int64) *node.Operation {
	r.Helper()
	o, err := r.db.Operation(r.Context(), id)
	require.NoError(r, err)
	return o
}

// waits makes the operation wait for its agent for that long.
func (r *records) waits(id int64, left time.Duration) {
	r.Helper()
	until, began := time.Now().Add(left), time.Now()
	_, err := r.db.SaveSteps(r.Context(), id, node.Claim{Seq: 1, Attempt: 1}, node.Progress{
		Steps: []node.Step{{Interface: "deploy", Step: "write_image", State: node.StepWaiting, StartedAt: &began}},
		Phase: node.Waiting, WaitingFor: "the agent", WaitingUntil: &until,
	})
	require.NoError(r, err)
}

func TestAPauseInTemporalStandsInTheRowAndTheTimeStandsStill(t *testing.T) {
	t.Parallel()
	for _, what := range []node.PauseOf{node.PauseOfWorkflow, node.PauseOfActivity} {
		for _, way := range []string{"reconciliation finds that it goes on", "its workflow looks"} {
			t.Run(string(what)+", "+way, func(t *testing.T) {
				r := newRecords(t)
				id := r.begun().ID
				r.waits(id, 10*time.Minute)
				pause := pausedAt(what, 20*time.Minute)
				r.temporal.status = node.RunStatus{Known: true, Open: true, Pause: pause}
				r.tick()
				o := r.operation(id)
				require.Equal(t, pause, o.TemporalPause)
				require.Equal(t, node.PausedState, o.State())
				r.tick()
				require.Equal(t, o, r.operation(id), "once")
				require.Empty(t, r.temporal.nudged, "it hears nothing, and each word stays in its history")

				r.temporal.status.Pause = nil
				if way == "its workflow looks" {
					require.NotContains(t, r.do(r.ops.Look, id), "end_asked")
				} else {
					r.tick()
					require.Equal(t, []int64{id}, r.temporal.nudged, "it may rest until a timer ends")
				}
				o = r.operation(id)
				require.Nil(t, o.TemporalPause)
				require.Equal(t, node.Waiting, o.State())
				require.WithinDuration(t, time.Now().Add(30*time.Minute), *o.WaitingUntil, time.Minute, "10 minutes were left when it was paused, 20 minutes ago")
				events, err := r.db.History(t.Context(), r.node.UUID, node.Page{})
				require.NoError(t, err)
				var said []string
				for _, e := range events {
					said = append(said, e.Event)
				}
				require.Contains(t, said, "deploy is "+pause.Words())
				require.Contains(t, said, "deploy goes on: it is no longer paused in Temporal")
			})
		}
	}
}

// No conductor works meanwhile, and the time for a decision does not pass.
func TestTheTimeForADecisionStandsStillWhileItsWorkflowIsPaused(t *testing.T) {
	t.Parallel()
	r := newRecords(t)
	id := r.begun().ID
	r.do(r.ops.Hold, orchestrator.HoldInput{Operation: id, Seq: 2, Error: "no disk", Wait: time.Hour})
	before := *r.operation(id).WaitingUntil
	r.temporal.status = node.RunStatus{Known: true, Open: true, Pause: pausedAt(node.PauseOfWorkflow, 3*time.Hour)}
	r.tick()
	seen := r.do(r.ops.LookHeld, id).(map[string]any)
	until, err := time.Parse(time.RFC3339Nano, seen["until"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, before.Add(3*time.Hour), until, time.Minute)
	require.Equal(t, node.Holding, r.operation(id).State())
}

func TestAnOperationThatIsPausedBeforeItBeganSaysSo(t *testing.T) {
	t.Parallel()
	r := newRecords(t)
	id := r.deploying(node.Step{Interface: "deploy", Step: "write_image", State: node.StepPending}).ID
	r.temporal.status = node.RunStatus{Known: true, Open: true, Pause: pausedAt(node.PauseOfWorkflow, time.Minute)}
	require.Eventually(t, func() bool { r.tick(); return r.operation(id).State() == node.PausedState }, 20*time.Second, 100*time.Millisecond)
	r.temporal.status.Pause = nil
	r.tick()
	require.Equal(t, node.Accepted, r.operation(id).State())
	require.Nil(t, r.operation(id).BegunAt)
}

// The API's signal may not have arrived.
func TestWhatIsAskedOfAPausedOperationUnpausesIt(t *testing.T) {
	t.Parallel()
	for ask, want := range map[node.Ask]bool{node.AskCancel: true, node.AskAbort: true, node.AskDelete: true, node.AskUnhold: true, node.AskPower: false} {
		t.Run(string(ask), func(t *testing.T) {
			r := newRecords(t)
			id := r.begun().ID
			_, err := r.db.AskOperation(t.Context(), id, ask, "ann", "")
			require.NoError(t, err)
			r.temporal.status = node.RunStatus{Known: true, Open: true, Pause: pausedAt(node.PauseOfWorkflow, time.Minute)}
			r.tick()
			require.Equal(t, want, len(r.temporal.unpaused) == 1)
		})
	}
}

func TestAStepThatRunsEndsAndNoneIsBegunWhileTheWorkflowIsPaused(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, fakes, plan.Options{})
	b.book.onSave = func(n int) {
		if n == 1 {
			b.changeOp(func(o *node.Operation) { o.TemporalPause = pausedAt(node.PauseOfWorkflow, 0) })
		}
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next)
	require.Equal(t, node.StepDone, b.op().Steps[0].State)
	require.Equal(t, node.StepPending, b.op().Steps[1].State)
}

// If the conductor of a step has died, Temporal retries the step, even while its workflow is paused.
func TestAStepWhoseConductorDiedRestsWhileTheWorkflowIsPaused(t *testing.T) {
	t.Parallel()
	began := time.Now()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Claim = node.Claim{Seq: 1} // of the same activity: another one would end the pause
		o.TemporalPause = pausedAt(node.PauseOfWorkflow, 0)
		o.Steps[0].State, o.Steps[0].StartedAt = node.StepRunning, &began
	})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next, "it is not maintenance: nobody ends it")
	require.Empty(t, b.machine.asked)

	b.changeOp(func(o *node.Operation) { o.TemporalPause = nil })
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
}
