package activities_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

const uuid = "11111111-1111-1111-1111-111111111111"

// bench is a conductor with one machine and its book.
type bench struct {
	*testing.T
	book    *book
	machine *machine
	steps   *conductor.Steps
	lost    int
	seq     int64
	tried   []string // conductors that have tried before and got no answer
}

// newBench plans an operation of kind k on a node in state s with the given power state.
func newBench(t *testing.T, k node.OperationKind, s node.State, power bmc.Power, interfaces map[string]string, o plan.Options) *bench {
	driver := "redfish"
	if interfaces["boot"] == "fake" {
		driver = "fake-hardware"
	}
	n := node.Node{UUID: uuid, Driver: driver, ProvisionState: s, Interfaces: interfaces, DriverInfo: map[string]any{"deploy_iso": "http://images/deploy.iso"}}
	steps, err := plan.Steps(k, &n, nil, o)
	require.NoError(t, err)
	b := &bench{T: t, book: newBook(n, node.Operation{ID: 7, NodeUUID: uuid, Kind: k, Steps: steps}), machine: &machine{power: power}}
	b.steps = &conductor.Steps{
		Store: conductor.CountLostClaims(b.book, func(string) { b.lost++ }), Drivers: map[string]bmc.Driver{driver: b.machine}, Log: zap.NewNop(),
		OpenAgent: conductor.OpenAgent,
		Settings: conductor.Settings{
			Conductor: "c1", PowerTimeout: 300 * time.Millisecond, PowerPoll: 5 * time.Millisecond, PowerSettle: 50 * time.Millisecond,
			MediaTimeout: 50 * time.Millisecond, MediaPoll: 5 * time.Millisecond,
			SoftPowerTimeout: 100 * time.Millisecond, AgentPoll: 5 * time.Millisecond,
		}.WithDefaults(),
	}
	return b
}

// run runs one activity with a newer claim.
func (b *bench) run() (conductor.StepsResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(b.steps)
	b.seq++
	v, err := env.ExecuteActivity(b.steps.RunSteps, conductor.StepsInput{Operation: 7, Node: uuid, Seq: b.seq, Tried: b.tried})
	if err != nil {
		return conductor.StepsResult{}, err
	}
	var r conductor.StepsResult
	require.NoError(b, v.Get(&r))
	return r, nil
}

func (b *bench) undo() error {
	_, err := b.undoResult()
	return err
}

func (b *bench) undoResult() (conductor.UndoResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(b.steps)
	b.seq++
	v, err := env.ExecuteActivity(b.steps.Undo, conductor.UndoInput{Operation: 7, Node: uuid, Seq: b.seq, Tried: b.tried})
	if err != nil {
		return conductor.UndoResult{}, err
	}
	var r conductor.UndoResult
	require.NoError(b, v.Get(&r))
	return r, nil
}

var fakes = map[string]string{"deploy": "fake", "boot": "fake", "network": "noop"}

var direct = map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "network": "noop"}

func kindOf(err error) string {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type()
	}
	return ""
}

func final(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.NonRetryable()
}
