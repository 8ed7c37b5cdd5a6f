package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
)

// bootMedium is the medium of a boot.
func bootMedium(token string) *node.BootMedium {
	return &node.BootMedium{
		Medium: node.Medium{APIURLs: []string{"http://api:6385"}, Append: "nofb", NetworkData: map[string]any{"links": []any{}}},
		Token:  token, KeyHash: keyHash,
	}
}

func keyHash(token string) []byte { return medium.Hash(medium.Key(token)) }

// What a server boots by network is found by the MACs of its ports. No token is on the way, so that the first lookup gets it.
func TestABootByNetworkIsFoundByTheMAC(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	const mac = "52:54:00:00:00:07"
	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: mac}))
	_, err := s.NetworkMedium(t.Context(), mac)
	kind(t, fault.NotFound, err)
	m := &node.BootMedium{Medium: node.Medium{Network: true, APIURLs: []string{"http://api:6385"}}, KeyHash: keyHash}
	for range 2 {
		token, err := s.BeginBoot(t.Context(), o.ID, first, m)
		require.NoError(t, err)
		require.Empty(t, token)
		found, err := s.NetworkMedium(t.Context(), mac)
		require.NoError(t, err)
		require.Equal(t, node.NetworkMedium{Medium: m.Medium, Node: n.UUID, KeyHash: keyHash(n.UUID)}, found)
		require.NoError(t, s.MediumRead(t.Context(), found.KeyHash, 5))
	}
	_, err = s.NetworkMedium(t.Context(), "52:54:00:00:00:08")
	kind(t, fault.NotFound, err)
	_, err = s.AgentLookup(t.Context(), n.UUID, "a", func(revealed int, _, _ bool) (bool, string) {
		require.Zero(t, revealed)
		return false, ""
	})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	_, err = s.NetworkMedium(t.Context(), mac)
	kind(t, fault.NotFound, err)
}

// A conductor that takes a boot over gets the token and the medium of the one before, and no lookup gets the token. All ends
// with the agent of the boot.
func TestABootHasOneMediumUntilItsAgentIsForgotten(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	for _, fresh := range []string{"t1", "t2"} {
		token, err := s.BeginBoot(t.Context(), o.ID, first, bootMedium(fresh))
		require.NoError(t, err)
		require.Equal(t, "t1", token)
	}
	m, err := s.Medium(t.Context(), keyHash("t1"))
	require.NoError(t, err)
	require.Equal(t, node.ServedMedium{Medium: bootMedium("").Medium, Node: n.UUID, Token: "t1"}, m)
	_, err = s.Medium(t.Context(), keyHash("t2"))
	kind(t, fault.NotFound, err)

	told, err := s.AgentLookup(t.Context(), n.UUID, "a", func(revealed int, same, _ bool) (bool, string) {
		require.Equal(t, 1, revealed, "the medium has it")
		require.False(t, same)
		return false, ""
	})
	require.NoError(t, err)
	require.Empty(t, told)
	require.NoError(t, s.MediumRead(t.Context(), keyHash("t1"), 5))

	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearAgent: true})
	require.NoError(t, err)
	_, err = s.Medium(t.Context(), keyHash("t1"))
	kind(t, fault.NotFound, err)
	require.NoError(t, s.MediumRead(t.Context(), keyHash("t1"), 5), "a read that was under way")
	token, err := s.BeginBoot(t.Context(), o.ID, first, bootMedium("t3"))
	require.NoError(t, err)
	require.Equal(t, "t3", token, "the next boot has its own")

	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	_, err = s.Medium(t.Context(), keyHash("t3"))
	kind(t, fault.NotFound, err)
}

func TestALookupFindsNothingBeforeABootBegins(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	lookup := func() (string, error) {
		return s.AgentLookup(t.Context(), n.UUID, "a", func(int, bool, bool) (bool, string) { return true, "t" })
	}
	_, err := lookup()
	kind(t, fault.NotFound, err)
	_, err = s.BeginBoot(t.Context(), o.ID, node.Claim{Seq: 1, Attempt: 2}, nil)
	kind(t, fault.Lost, err)
	_, err = lookup()
	kind(t, fault.NotFound, err)
	_, err = s.BeginBoot(t.Context(), o.ID, first, nil)
	require.NoError(t, err)
	token, err := lookup()
	require.NoError(t, err)
	require.Equal(t, "t", token)
}
