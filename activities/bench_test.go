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

// bench is a conductor with one machine and the database of its node.
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
func newBench(t *testing.T, k node.OperationKind, s node.State, power bmc.Power, interfaces map[string]string, o plan.Options, asked ...node.Step) *bench {
	t.Helper()
	return newBenchOf(t, &node.Node{UUID: uuid, ProvisionState: s, Interfaces: interfaces}, nil, k, power, o, asked...)
}

// newBenchOf is newBench for a given node, with secrets.
func newBenchOf(t *testing.T, n *node.Node, secrets node.Secrets, k node.OperationKind, power bmc.Power, o plan.Options, asked ...node.Step) *bench {
	t.Helper()
	driver := "redfish"
	if n.Interfaces["boot"] == "fake" {
		driver = "fake-hardware"
	}
	n.Driver = driver
	if n.DriverInfo == nil {
		n.DriverInfo = map[string]any{"deploy_iso": "http://images/deploy.iso"}
	}
	steps, err := plan.Steps(k, n, asked, o)
	require.NoError(t, err)
	b := &bench{T: t, book: newBook(t, n, &node.Operation{Kind: k, Steps: steps}, secrets), machine: &machine{power: power}}
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

// node returns the node as it stands in the database.
func (b *bench) node() *node.Node { b.Helper(); return b.book.read() }

// op returns the operation as it stands in the database.
func (b *bench) op() *node.Operation { b.Helper(); return b.book.read().Operation }

// change lets somebody else change the node or its operation.
func (b *bench) change(f func(n *node.Node)) { b.Helper(); b.book.change(f) }

// changeOp lets somebody else change the operation.
func (b *bench) changeOp(f func(o *node.Operation)) {
	b.Helper()
	b.book.change(func(n *node.Node) { f(n.Operation) })
}

// run runs one activity with a newer claim.
func (b *bench) run() (conductor.StepsResult, error) {
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(b.steps)
	b.seq++
	v, err := env.ExecuteActivity(b.steps.RunSteps, conductor.StepsInput{Operation: b.book.op, Node: b.book.node, Seq: b.seq, Tried: b.tried})
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
	v, err := env.ExecuteActivity(b.steps.Undo, conductor.UndoInput{Operation: b.book.op, Node: b.book.node, Seq: b.seq, Tried: b.tried})
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
