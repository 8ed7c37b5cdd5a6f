package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
)

// yard has nodes whose instances are gone, and shares that are stale.
type yard struct {
	stillShares
	stale   bool
	did     []string
	nodes   map[string]*node.Node
	orphans []share.Orphan
	asked   map[string]*node.Request
}

func (y *yard) SharesStale(context.Context) (bool, error) { return y.stale, nil }

func (y *yard) PublishShares(context.Context, int64, func(share.State) []share.Row) (share.Published, error) {
	y.did = append(y.did, "published")
	return share.Published{Epoch: 2, Moved: 3, Expired: 1}, nil
}

func (y *yard) HandOverShares(context.Context, time.Duration) (share.Published, error) {
	y.did = append(y.did, "handed over")
	return share.Published{}, nil
}

func (y *yard) Orphans(context.Context, time.Duration, int) ([]share.Orphan, error) {
	return y.orphans, nil
}

func (y *yard) Request(_ context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error) {
	r, err := decide(y.nodes[ident])
	if err != nil || r == nil {
		return nil, err
	}
	y.asked[ident] = r
	if r.Open != nil {
		r.Open.ID = 7
	}
	return r.Open, nil
}

func (y *yard) tick(t *testing.T, a *archive, reaping reconcile.Reaping) reconcile.TickResult {
	t.Helper()
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	r := &reconcile.Reconciler{
		Store: a, Ring: a, Operations: a, Starter: a, Controller: a, Describer: a, Shares: y, Instances: y, Reaping: reaping,
		Safe: 9 * time.Second, Log: zap.NewNop(),
	}
	env.RegisterActivity(r.Tick)
	v, err := env.ExecuteActivity(r.Tick)
	require.NoError(t, err)
	var out reconcile.TickResult
	require.NoError(t, v.Get(&out))
	return out
}

func TestAnEpochIsPublishedWhereSomethingHasChanged(t *testing.T) {
	t.Parallel()
	y := &yard{stale: true}
	require.Equal(t, 1, y.tick(t, &archive{}, reconcile.Reaping{}).Expired)
	y.stale = false
	y.tick(t, &archive{}, reconcile.Reaping{})
	require.Equal(t, []string{"published", "handed over"}, y.did)
}

func TestNodesWhoseInstanceIsGoneAreGivenBack(t *testing.T) {
	t.Parallel()
	nodes := func() map[string]*node.Node {
		out := map[string]*node.Node{}
		for name, state := range map[string]node.State{
			"active": node.Active, "failed": node.DeployFailed, "claimed": node.Available, "other": node.Active, "protected": node.Active, "busy": node.Deploying,
		} {
			out[name] = &node.Node{
				UUID: name, Driver: "fake-hardware", ProvisionState: state, InstanceUUID: "i", InstanceInfo: map[string]any{"a": 1},
				Interfaces: map[string]string{"deploy": "fake", "power": "fake", "management": "fake", "boot": "fake"},
			}
		}
		out["other"].InstanceUUID = "another"
		out["protected"].Protected = true
		return out
	}
	y := &yard{nodes: nodes(), asked: map[string]*node.Request{}}
	for name := range y.nodes {
		y.orphans = append(y.orphans, share.Orphan{Instance: "i", Node: name})
	}
	require.Zero(t, y.tick(t, &archive{}, reconcile.Reaping{Report: true}).Reaped, "reap: report")
	a := &archive{}
	require.Equal(t, 3, y.tick(t, a, reconcile.Reaping{}).Reaped)
	require.Len(t, y.asked, 3, "whose instance it is not, who is protected and who is at work is left alone")
	require.Len(t, a.started, 2)
	for _, name := range []string{"active", "failed"} {
		r := y.asked[name]
		require.Equal(t, []node.Event{node.EventDelete}, r.Move)
		require.Equal(t, node.KindUndeploy, r.Open.Kind)
		require.Equal(t, node.Available, r.Open.Target)
		require.NotEmpty(t, r.Open.Steps)
	}
	claimed := y.asked["claimed"]
	require.Nil(t, claimed.Open, "nothing is on its disk")
	claimed.Apply(y.nodes["claimed"])
	require.Empty(t, y.nodes["claimed"].InstanceUUID)
	require.Empty(t, y.nodes["claimed"].InstanceInfo)
}
