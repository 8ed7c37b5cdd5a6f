package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/reconcile"
	"go.temper.dev/temper/workflows"
)

// The scheduled reconciliation has one activity, which may run twice (TestEveryPartOfATickMayRunTwice).
func TestATickThatFailsIsTriedAgainThreeTimesInAllAndEndsWhenItIsCancelled(t *testing.T) {
	passing := errors.New("connection refused")
	failed := temporal.NewApplicationErrorWithOptions("shares: no", "unavailable", temporal.ApplicationErrorOptions{
		Details: []any{reconcile.TickResult{Started: 3, Took: "1s", Failed: []string{"shares: no"}}},
	})
	done := reconcile.TickResult{Took: "1s"}
	for name, c := range map[string]struct {
		answers []error // of each try; the last one stays
		cancel  bool    // while it runs
		tries   int
		fails   string
	}{
		"undisturbed":                            {answers: []error{nil}, tries: 1},
		"fails once, or its answer is lost once": {answers: []error{passing, nil}, tries: 2},
		"fails in part, and then not":            {answers: []error{failed, nil}, tries: 2},
		"fails each time":                        {answers: []error{passing}, tries: 3, fails: "connection refused"},
		"fails in part each time":                {answers: []error{failed}, tries: 3, fails: "shares: no"},
		"fails for good":                         {answers: []error{temporal.NewNonRetryableApplicationError("it is wrong", "invalid", nil)}, tries: 1, fails: "it is wrong"},
		"sees a cancel":                          {answers: []error{nil}, cancel: true, tries: 1, fails: "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			var s testsuite.WorkflowTestSuite
			env := s.NewTestWorkflowEnvironment()
			env.SetTestTimeout(30 * time.Second)
			tries := 0
			env.RegisterActivityWithOptions(func(ctx context.Context) (reconcile.TickResult, error) {
				tries++
				if c.cancel {
					env.CancelWorkflow()
				}
				return done, c.answers[min(tries, len(c.answers))-1]
			}, activity.RegisterOptions{Name: "Tick"})
			env.ExecuteWorkflow(workflows.Reconcile)
			require.True(t, env.IsWorkflowCompleted())
			require.Equal(t, c.tries, tries)
			if c.fails == "" {
				require.NoError(t, env.GetWorkflowError())
				return
			}
			require.ErrorContains(t, env.GetWorkflowError(), c.fails)
		})
	}
}
