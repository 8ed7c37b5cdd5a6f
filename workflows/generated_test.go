package workflows_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// The course of an operation runs once undisturbed. Then it runs again for each of its activities and each disturbance.
// The cases are made from the activities of the undisturbed run, so a course with more activities gets more cases.

// disturbances are what can happen to an activity.
var disturbances = []string{
	"fails once",              // before it did anything; Temporal tries it again
	"runs twice",              // it took effect, but its result was lost
	"fails for good",          // with an error that is not retried
	"is not its own any more", // another run, or reconciliation, has the operation
	"sees a cancel",           // which comes while it runs
}

// wrong returns an error that says which promise was broken, nil if none was.
func (r *row) wrong() error {
	name := "a wait"
	if r.at > 0 {
		name = r.calls[r.at-1]
	}
	atTheEnd := slices.Contains([]string{"PlanUndo", "Undo", "Close", "StartOperation"}, name)
	want := []node.Outcome{r.ends}
	switch {
	case !slices.IsSorted(r.seqs):
		return fmt.Errorf("claims are not newer each time: %v", r.seqs)
	case len(r.late) > 0:
		return fmt.Errorf("%v began on hardware after the cancel", r.late)
	case r.reset && r.at == 1 && r.how == "is not its own any more": // as without the disturbance
	case r.how == "is not its own any more" && name != "StartOperation" && name != "Undo":
		if len(r.calls) > r.at {
			return fmt.Errorf("after it was lost: %v", r.calls[r.at:])
		}
		return nil
	case r.how == "fails for good" && (name == "Begin" || name == "Adopt" || name == "Close"):
		if len(r.calls) > r.at || r.env.GetWorkflowError() == nil {
			return fmt.Errorf("it went on: %v, %w", r.calls[r.at:], r.env.GetWorkflowError())
		}
		return nil // reconciliation ends the operation
	case r.how == "fails for good" && !atTheEnd:
		want = []node.Outcome{node.Failed}
	case (r.how == "sees a cancel" || r.nap > 0) && !atTheEnd:
		want = []node.Outcome{node.Cancelled, r.ends} // the steps may have ended before the cancel
	}
	if len(r.closed) != 1 || !slices.Contains(want, r.closed[0].Outcome) {
		return fmt.Errorf("closed as %v, want one of %v", r.closed, want)
	}
	if planned := slices.Contains(r.calls, "PlanUndo"); planned != (r.closed[0].Outcome != node.Succeeded) {
		return fmt.Errorf("whether anything is to be undone was asked: %v", planned)
	}
	if r.undo && name != "PlanUndo" && r.closed[0].Outcome != node.Succeeded && !slices.Contains(r.calls, "Undo") {
		return errors.New("what was half done was not undone")
	}
	if len(r.started) == 0 && !(name == "StartOperation") {
		return errors.New("what was asked to follow was not started")
	}
	return nil
}

// A failure, a repetition, a loss and a cancel at each activity of each course of each kind of operation.
func TestEveryActivityOfEveryCourseMayFailRunTwiceOrSeeACancel(t *testing.T) {
	cases, expected := 0, 0
	tried := map[string]bool{}
	perKind := map[node.OperationKind]int{}
	for _, kind := range node.Kinds() {
		for _, c := range courses {
			calm := &row{course: c}
			require.NoError(t, calm.run(kind), c.name)
			require.Len(t, calm.closed, 1, c.name)
			require.Equal(t, c.ends, calm.closed[0].Outcome, "%s: %v", c.name, calm.closed)
			expected += len(calm.calls) * len(disturbances)
			for _, name := range calm.calls {
				tried[name] = true
			}
			for at := range calm.calls {
				for _, how := range disturbances {
					r := &row{course: c, at: at + 1, how: how}
					what := fmt.Sprintf("%s, %s: %s (call %d) %s", kind, c.name, calm.calls[at], at+1, how)
					require.NoError(t, r.run(kind), what)
					require.True(t, r.hit, "%s: it did not come to that: %v", what, r.calls)
					require.Equal(t, calm.calls[:at+1], r.calls[:at+1], what)
					require.NoError(t, r.wrong(), "%s: %v", what, r.calls)
					cases++
					perKind[kind]++
				}
			}
		}
	}
	for name := range (&row{}).activities() {
		require.True(t, tried[name], "no course calls %s", name)
	}
	require.Equal(t, expected, cases)
	require.Len(t, perKind, len(node.Kinds()))
	for kind, n := range perKind {
		require.GreaterOrEqual(t, n, 200, "%s has fewer cases than its courses make", kind)
	}
	t.Logf("%d cases", cases)
}

// A cancel in each wait of each course of each kind of operation.
func TestEveryWaitOfEveryCourseMaySeeACancel(t *testing.T) {
	cases := 0
	for _, kind := range node.Kinds() {
		for _, c := range courses {
			calm := &row{course: c}
			require.NoError(t, calm.run(kind), c.name)
			for nap := range calm.naps {
				r := &row{course: c, nap: nap + 1}
				what := fmt.Sprintf("%s, %s: cancelled in wait %d, after %s", kind, c.name, nap+1, calm.naps[nap])
				require.NoError(t, r.run(kind), what)
				require.True(t, r.cancelled, "%s: it did not come to that: %v", what, r.naps)
				require.NoError(t, r.wrong(), "%s: %v", what, r.calls)
				if calm.naps[nap] != "Adopt" { // until the steps of the run before can have ended, this run does nothing
					require.Equal(t, node.Cancelled, r.closed[0].Outcome, what)
				}
				cases++
			}
		}
	}
	require.GreaterOrEqual(t, cases, 10*len(node.Kinds()))
	t.Logf("%d cases", cases)
}
