package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/workflows"
)

// silentTo is a run of steps on a conductor that gets no answer from the BMC, when other conductors can try.
func silentTo(name string) func() (conductor.StepsResult, error) {
	return func() (conductor.StepsResult, error) {
		return conductor.StepsResult{Next: conductor.NextElsewhere, Conductor: name}, nil
	}
}

// retried is a failure after which Temporal should retry.
func retried(pause time.Duration) func() (conductor.StepsResult, error) {
	return func() (conductor.StepsResult, error) { return conductor.StepsResult{}, again(pause) }
}

func again(pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("no answer", fault.Unreachable.String(), temporal.ApplicationErrorOptions{NextRetryDelay: pause})
}

func timeout(kind enums.TimeoutType) func() (conductor.StepsResult, error) {
	return func() (conductor.StepsResult, error) {
		return conductor.StepsResult{}, temporal.NewTimeoutError(kind, nil)
	}
}

const shared = "conductor/default/redfish"

var two = []node.Host{{Name: "c1", Incarnation: 4}, {Name: "c2", Incarnation: 9}}

func TestAStepGoesToAnotherConductorWhereOneGetsNoAnswer(t *testing.T) {
	none := []string(nil)
	for name, c := range map[string]struct {
		runs   []func() (conductor.StepsResult, error)
		hosts  []node.Host
		queues []string
		tried  [][]string
		fails  string
	}{
		"the other one reaches it": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), done}, hosts: two,
			queues: []string{shared, "host/c2/9"}, tried: [][]string{none, {"c1"}},
		},
		"the other one has gone meanwhile": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), done}, hosts: two[:1],
			queues: []string{shared, shared}, tried: [][]string{none, {"c1"}},
		},
		"the other one does not take it": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), timeout(enums.TIMEOUT_TYPE_SCHEDULE_TO_START), done}, hosts: two,
			queues: []string{shared, "host/c2/9", shared}, tried: [][]string{none, {"c1"}, {"c1", "c2"}},
		},
		"the other one dies at it": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), timeout(enums.TIMEOUT_TYPE_HEARTBEAT), done}, hosts: two,
			queues: []string{shared, "host/c2/9", shared}, tried: [][]string{none, {"c1"}, none},
		},
		"nobody reaches it, and the next round does": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), retried(time.Minute), silentTo("c2"), done}, hosts: two,
			queues: []string{shared, "host/c2/9", shared, "host/c1/4"}, tried: [][]string{none, {"c1"}, none, {"c2"}},
		},
		"it fails for good on the other one": {
			runs: []func() (conductor.StepsResult, error){silentTo("c1"), fails(fault.Unreachable, "no answer")}, hosts: two,
			queues: []string{shared, "host/c2/9"}, tried: [][]string{none, {"c1"}}, fails: "no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{runs: c.runs, hosts: c.hosts}
			env := w.env(t)
			began := env.Now()
			env.ExecuteWorkflow(workflows.Operate, input)
			if c.fails != "" {
				require.ErrorContains(t, env.GetWorkflowError(), c.fails)
			} else {
				require.NoError(t, env.GetWorkflowError())
			}
			require.Equal(t, c.queues, w.queues)
			require.Equal(t, c.tried, w.tried)
			for i := range w.seqs {
				require.EqualValues(t, i+1, w.seqs[i], "every activity on hardware takes a newer claim")
			}
			if name == "nobody reaches it, and the next round does" {
				require.GreaterOrEqual(t, env.Now().Sub(began), time.Minute, "the pause of the last one holds")
			}
		})
	}
}

func TestAnUndoGoesToAnotherConductorWhereOneGetsNoAnswerAndIsGivenUpInTheEnd(t *testing.T) {
	passedOn := func() (conductor.UndoResult, error) {
		return conductor.UndoResult{Elsewhere: true, Conductor: "c1"}, nil
	}
	for name, c := range map[string]struct {
		undos  []func() (conductor.UndoResult, error)
		queues []string
		words  string
	}{
		"the other one does it": {
			undos:  []func() (conductor.UndoResult, error){passedOn},
			queues: []string{shared, shared, "host/c2/9"},
		},
		"nobody reaches it": {
			undos: []func() (conductor.UndoResult, error){
				passedOn, func() (conductor.UndoResult, error) { return conductor.UndoResult{}, again(2 * time.Minute) },
				passedOn, func() (conductor.UndoResult, error) { return conductor.UndoResult{}, again(2 * time.Minute) },
			},
			queues: []string{shared, shared, "host/c2/9", shared, "host/c2/9"},
			words:  "no; what it left is still to be undone: no conductor got an answer within 3m",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{
				runs: []func() (conductor.StepsResult, error){fails(fault.Refused, "no")}, hosts: two,
				undo: orchestrator.UndoPlan{Needed: true, Covered: true}, undos: c.undos,
			}
			env := w.env(t)
			env.ExecuteWorkflow(workflows.Operate, input)
			require.Equal(t, c.queues, w.queues)
			if c.words == "" {
				c.words = "no"
			}
			require.Equal(t, c.words, w.closed[0].Error)
		})
	}
}
