package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

func TestARetryHasTheSecretsOfWhatItRetries(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	step := node.Step{Interface: "deploy", Step: "deploy", State: node.StepPending, Args: map[string]any{"password": mask.Masked}}
	request := func(*node.Node) (*node.Request, error) {
		return &node.Request{
			Move: []node.Event{node.EventDeploy}, Open: &node.Operation{Kind: node.KindDeploy, Target: node.Active, Steps: []node.Step{step}, OnFailure: node.HoldOnFailure},
			Secrets: node.Secrets{"steps/deploy.deploy#0/password": "s3cret"},
		}, nil
	}
	first, err := s.Request(t.Context(), n.UUID, request)
	require.NoError(t, err)
	require.Equal(t, node.HoldOnFailure, first.OnFailure)
	require.NoError(t, closeErr(s.CloseOperation(t.Context(), node.End{Operation: first.ID, Outcome: node.Failed, Error: "no disk"})))

	again := func(_ *node.Node, old *node.Operation, newest bool) (*node.Request, error) {
		require.Equal(t, first.ID, old.ID)
		require.True(t, newest)
		return &node.Request{Move: []node.Event{node.EventDeploy}, Open: &node.Operation{Kind: node.KindDeploy, Target: node.Active, Steps: []node.Step{step}, RetryOf: old.ID}}, nil
	}
	second, err := s.Retry(t.Context(), first.ID, again)
	require.NoError(t, err)
	require.Equal(t, first.ID, second.RetryOf)
	open, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Equal(t, "s3cret", open[secretName(second.ID)])
	require.Equal(t, "s3cret", open[secretName(first.ID)], "the first may be retried again")

	require.NoError(t, closeErr(s.CloseOperation(t.Context(), node.End{Operation: second.ID, Outcome: node.Succeeded})))
	require.Zero(t, ask[int](t, url, "SELECT count(*) FROM secrets"), "success needs no secrets any more")
	_, err = s.Retry(t.Context(), 1<<40, again)
	kind(t, fault.NotFound, err)
}

func TestTheSecretsOfACallOfAVendorMethodDoNotStay(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	call := func(outcome node.Outcome) {
		o, err := s.Request(t.Context(), n.UUID, func(n *node.Node) (*node.Request, error) {
			step := node.Step{Interface: "vendor", Step: node.StepCreateSubscription, State: node.StepPending, Args: map[string]any{"HttpHeaders": []any{map[string]any{"Cookie": "s3cret"}}}}
			return &node.Request{Open: &node.Operation{Kind: node.KindVendorPassthru, Target: n.ProvisionState, Steps: []node.Step{step}}}, nil
		})
		require.NoError(t, err)
		open, err := credentials(t, s, n.UUID)
		require.NoError(t, err)
		require.Contains(t, open, fmt.Sprintf("operation/%d/steps/vendor.create_subscription#0/HttpHeaders", o.ID))
		require.NoError(t, closeErr(s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: outcome, Error: "as the test wants it"})))
	}
	call(node.Failed)
	call(node.Succeeded)
	require.Equal(t, 1, ask[int](t, url, "SELECT count(*) FROM secrets"), "the one that failed may be retried")
	for range 30 {
		call(node.Failed)
	}
	require.Equal(t, 21, ask[int](t, url, "SELECT count(*) FROM secrets"), "those of the newest that failed")
}

func secretName(id int64) string {
	return fmt.Sprintf("operation/%d/steps/deploy.deploy#0/password", id)
}
