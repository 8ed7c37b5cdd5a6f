package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestTheNewestLogsOfANodeAreKept(t *testing.T) {
	t.Parallel()
	s, _ := openURL(t)
	n, other := &node.Node{Name: "n1", Driver: "fake-hardware"}, &node.Node{Name: "n2", Driver: "fake-hardware"}
	for _, one := range []*node.Node{n, other} {
		require.NoError(t, s.CreateNode(t.Context(), one, nil, "admin"))
	}
	for i := range node.LogsKept + 2 {
		for _, one := range []*node.Node{n, other} {
			l := node.Log{Operation: int64(i), Kind: node.AgentLog, Step: "deploy.deploy", Conductor: "c1", Content: fmt.Sprint(one.Name, " ", i)}
			_, err := s.SaveLog(t.Context(), one.UUID, l)
			require.NoError(t, err)
		}
	}
	logs, err := s.Logs(t.Context(), n.ID)
	require.NoError(t, err)
	var kept []string
	for _, l := range logs {
		kept = append(kept, l.Content)
		require.False(t, l.At.IsZero())
	}
	require.Equal(t, []string{"n1 5", "n1 4", "n1 3", "n1 2"}, kept)
	id, err := s.SaveLog(t.Context(), "00000000-0000-4000-8000-000000000000", node.Log{Kind: node.AgentLog})
	require.NoError(t, err, "a node that was deleted meanwhile")
	require.Zero(t, id)
}
