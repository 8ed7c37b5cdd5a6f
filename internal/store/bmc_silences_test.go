package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func silent(t testing.TB, s *store.Store, n *node.Node, pause time.Duration) {
	t.Helper()
	require.NoError(t, s.BMCSilent(t.Context(), n.ID, node.BMCSilence{BMC: n.BMC(), AskedBy: "c1", Seen: "no answer"}, pause))
}

func shown(t testing.TB, s *store.Store, n *node.Node) *node.BMCSilence {
	t.Helper()
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	return got.SilentBMC()
}

func TestASilentBMCIsAskedByOneAtATime(t *testing.T) {
	t.Parallel()
	s := open(t)
	covering(t, s, "c1")
	n := create(t, s, node.Active)
	require.Nil(t, shown(t, s, n))
	silent(t, s, n, -time.Second)
	first := shown(t, s, n)
	require.Equal(t, "c1", first.AskedBy)
	require.Equal(t, "no answer", first.Seen)
	require.WithinDuration(t, time.Now(), first.Since, time.Hour)

	var asks atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			left, err := s.AskSilentBMC(t.Context(), n.BMC(), "c2", time.Hour, false)
			if err == nil && left == 0 {
				asks.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, asks.Load())
	left, err := s.AskSilentBMC(t.Context(), n.BMC(), "c3", time.Hour, false)
	require.NoError(t, err)
	require.Greater(t, left, 59*time.Minute)
	require.Equal(t, "c2", shown(t, s, n).AskedBy)
	require.True(t, shown(t, s, n).Asking, "until somebody knows what has become of it")
	left, err = s.AskSilentBMC(t.Context(), n.BMC(), "c3", time.Hour, true)
	require.NoError(t, err)
	require.Zero(t, left, "in any case")

	silent(t, s, n, time.Hour)
	require.False(t, shown(t, s, n).Asking)
	require.Equal(t, first.Since, shown(t, s, n).Since)
	require.NoError(t, s.BMCAnswered(t.Context(), n.ID, n.BMC()))
	require.Nil(t, shown(t, s, n))
	left, err = s.AskSilentBMC(t.Context(), n.BMC(), "c3", time.Hour, false)
	require.NoError(t, err)
	require.Zero(t, left, "it is not silent any more")
}

func TestNodesOfOneBMCAreAskedAndForgottenTogether(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	var nodes []*node.Node
	for range 2 {
		n := create(t, s, node.Active)
		n.Driver, n.DriverInfo = "redfish", map[string]any{"redfish_address": "https://bmc.example.org"}
		nodes = append(nodes, n)
		silent(t, s, n, -time.Second)
	}
	raw(t, url, `UPDATE nodes SET driver = 'redfish', driver_info = '{"redfish_address": "https://bmc.example.org"}'`)
	require.Equal(t, nodes[0].BMC(), nodes[1].BMC())
	_, err := s.AskSilentBMC(t.Context(), nodes[0].BMC(), "c2", time.Hour, false)
	require.NoError(t, err)
	require.Equal(t, "c2", shown(t, s, nodes[1]).AskedBy)
	raw(t, url, owned)
	due, err := s.SilentDue(t.Context(), "c1", []string{"redfish"}, time.Hour, 10)
	require.NoError(t, err)
	require.Empty(t, due, "somebody asks it")

	for _, n := range nodes {
		silent(t, s, n, -time.Second)
	}
	due, err = s.SilentDue(t.Context(), "c1", []string{"redfish"}, time.Hour, 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	silent(t, s, nodes[1], time.Minute) // one of them was asked, and gave no answer
	left, err := s.AskSilentBMC(t.Context(), nodes[0].BMC(), "c2", time.Hour, false)
	require.NoError(t, err)
	require.LessOrEqual(t, left, time.Minute, "the pause holds for all of its nodes")
	require.Greater(t, left, time.Second)
	require.NoError(t, s.BMCAnswered(t.Context(), nodes[0].ID, nodes[0].BMC()))
	require.Nil(t, shown(t, s, nodes[1]))
}

func TestTheSilenceOfTheBMCThatANodeHadBeforeDoesNotCount(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	n := create(t, s, node.Active)
	silent(t, s, n, time.Hour)
	raw(t, url, `UPDATE nodes SET driver = 'redfish', driver_info = '{"redfish_address": "https://new.example.org"}'`)
	require.Nil(t, shown(t, s, n))
	n, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.NotNil(t, n.Silence)
	since := n.Silence.Since
	silent(t, s, n, time.Hour)
	require.True(t, shown(t, s, n).Since.After(since))
	silent(t, s, n, time.Hour)
	require.NoError(t, s.BMCAnswered(t.Context(), n.ID, "another"))
	require.Nil(t, shown(t, s, n))
}

func TestSilentBMCsAreLeftOutOfTheReadingsAndAskedWhenTheirPauseIsOver(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	covering(t, s, "c1")
	n := create(t, s, node.Active)
	raw(t, url, owned)
	require.Len(t, due(t, s), 1)
	silent(t, s, n, time.Hour)
	require.Empty(t, due(t, s))
	ask := func() []node.Node {
		t.Helper()
		nodes, err := s.SilentDue(t.Context(), "c1", []string{"fake-hardware"}, time.Hour, 10)
		require.NoError(t, err)
		return nodes
	}
	require.Empty(t, ask(), "its pause is not over")
	silent(t, s, n, -time.Second)
	got := ask()
	require.Len(t, got, 1)
	require.Equal(t, n.UUID, got[0].UUID)
	require.NotNil(t, got[0].SilentBMC())
	require.Empty(t, ask(), "it is being asked")
	silent(t, s, n, -time.Second)
	raw(t, url, `UPDATE nodes SET maintenance = true`)
	require.Empty(t, ask(), "an operator works on it")
}

// One silence has one beginning, whoever of its nodes and conductors records it: the first look that got no answer.
func TestASilenceBeginsWithTheFirstLookThatGotNoAnswer(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Active)
	began := time.Now().Add(-time.Minute)
	for range 2 {
		require.NoError(t, s.BMCSilent(t.Context(), n.ID, node.BMCSilence{BMC: n.BMC(), Since: began, AskedBy: "c1", Seen: "no answer"}, time.Hour))
		require.WithinDuration(t, time.Now().Add(-time.Minute), shown(t, s, n).Since, 20*time.Second)
		began = time.Now()
	}
}
