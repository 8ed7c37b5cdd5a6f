package node_test

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
)

//go:embed lifecycle_golden.txt
var golden string

func TestTheTableIsIronics(t *testing.T) {
	var want, have []string
	for line := range strings.Lines(golden) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	for _, r := range Rules {
		have = append(have, fmt.Sprintf("%s | %s | %s", r.From, r.Event, r.To))
	}
	slices.Sort(want)
	slices.Sort(have)
	require.Len(t, want, 93)
	require.Equal(t, want, have)
}

func TestEachPairOfStateAndEventStandsOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules {
		pair := string(r.From) + "/" + string(r.Event)
		require.False(t, seen[pair], pair)
		seen[pair] = true
	}
}

func TestEveryStateIsReachableLeavableAndClassed(t *testing.T) {
	reached := map[State]bool{Enroll: true}
	for range Rules {
		for _, r := range Rules {
			if reached[r.From] {
				reached[r.To] = true
			}
		}
	}
	for _, r := range Rules {
		require.True(t, reached[r.From], "%s can't be reached from enroll", r.From)
		require.NotEmpty(t, Allowed(r.To), "%s can't be left", r.To)
		require.NotEqual(t, ClassNone, ClassOf(r.From), "%s has no class", r.From)
	}
	require.Len(t, States(), 30)
}

func TestWhateverRunsCanFailAndGoesWhereTheTableSays(t *testing.T) {
	for _, s := range States() {
		switch {
		case Working(s), Waits(s):
			to, err := Next(s, EventFail)
			require.NoError(t, err, s)
			require.Equal(t, to, FailedState(s), s)
		case Holds(s):
			to, err := Next(s, EventAbort)
			require.NoError(t, err, s)
			require.Equal(t, to, FailedState(s), s)
		default:
			require.Empty(t, FailedState(s), s)
		}
		require.Equal(t, FailedState(s) != "", Transient(s), s)
	}
}

func TestEveryWorkCanEndWellAndEveryWaitCanGoOn(t *testing.T) {
	for _, s := range States() {
		switch {
		case s == Deleting: // goes on into cleaning
			require.True(t, Can(s, EventClean))
		case Working(s):
			require.True(t, Can(s, EventDone), s)
		case Waits(s):
			require.True(t, Can(s, EventResume), s)
		case Holds(s):
			require.True(t, Can(s, EventUnhold), s)
		}
	}
}

func TestTargetsAreShownExactlyOutsideStableStates(t *testing.T) {
	for _, s := range States() {
		require.Equal(t, ClassOf(s) == ClassStable, TargetOf(s) == NoState, s)
		if tgt := TargetOf(s); tgt != NoState {
			require.Equal(t, ClassStable, ClassOf(tgt), "%s aims at %s", s, tgt)
		}
	}
	require.Equal(t, Manageable, TargetIn(CleanWait, Manageable))
	require.Equal(t, Available, TargetIn(CleanFailed, Available))
	require.Equal(t, Active, TargetIn(DeployFailed, Active))
	require.Equal(t, NoState, TargetIn(Manageable, Manageable))
}

func TestWhatIsNotInTheTableIsNotAllowed(t *testing.T) {
	for _, s := range append(States(), "", "gone") {
		for _, e := range append(Events(), "explode") {
			to, err := Next(s, e)
			if Can(s, e) {
				require.NoError(t, err)
				require.Contains(t, Allowed(s), e)
				continue
			}
			require.Empty(t, to)
			require.Equal(t, fault.NotAllowed, fault.KindOf(err), "%s in %s", e, s)
			require.NotContains(t, Allowed(s), e)
		}
	}
}
