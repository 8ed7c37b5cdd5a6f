package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

func TestTokens(t *testing.T) {
	a, b := agent.NewToken(), agent.NewToken()
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, a)
	require.NotEqual(t, a, b)
	require.True(t, agent.SameToken(a, a))
	require.False(t, agent.SameToken(a, b))
	require.False(t, agent.SameToken("", ""))
	require.False(t, agent.SameToken(agent.Masked, agent.Masked), "the mask is no token")
}

func TestTokenIsToldOnceAndAFewTimesAgain(t *testing.T) {
	first := agent.Source{MACs: []string{"52:54:00:AA:00:02", "52:54:00:aa:00:01"}, IP: "192.0.2.50"}
	same := agent.Source{MACs: []string{"52:54:00:aa:00:01", " 52:54:00:aa:00:02", "52:54:00:aa:00:01"}, IP: "192.0.2.50"}
	ask := func(r agent.TokenReveals, s agent.Source) (bool, agent.TokenReveals) { return r.Reveal(s) }

	clear, told := ask(agent.TokenReveals{}, first)
	require.True(t, clear)

	t.Run("the same source is told three times more", func(t *testing.T) {
		r := told
		for range agent.RevealAgain {
			clear, r = ask(r, same)
			require.True(t, clear)
		}
		clear, last := ask(r, same)
		require.False(t, clear)
		require.Equal(t, r, last, "a refusal changes nothing")
	})
	for name, s := range map[string]agent.Source{
		"another address": {MACs: first.MACs, IP: "192.0.2.51"},
		"fewer MACs":      {MACs: first.MACs[:1], IP: first.IP},
		"more MACs":       {MACs: append([]string{"52:54:00:aa:00:03"}, first.MACs...), IP: first.IP},
		"no MACs":         {IP: first.IP},
		"no address":      {MACs: first.MACs},
	} {
		t.Run(name+" is told nothing", func(t *testing.T) {
			clear, r := ask(told, s)
			require.False(t, clear)
			require.Equal(t, told, r)
		})
	}
	t.Run("nobody is told after the first heartbeat", func(t *testing.T) {
		closed := told
		closed.Closed = true
		clear, _ := ask(closed, same)
		require.False(t, clear)
	})
	t.Run("a token that was built into the ramdisk is never told", func(t *testing.T) {
		clear, _ := ask(agent.TokenReveals{Closed: true}, first)
		require.False(t, clear)
	})
	t.Run("who has no MACs is told once only", func(t *testing.T) {
		nameless := agent.Source{IP: "192.0.2.50"}
		clear, r := ask(agent.TokenReveals{}, nameless)
		require.True(t, clear)
		clear, _ = ask(r, nameless)
		require.False(t, clear)
	})
}
