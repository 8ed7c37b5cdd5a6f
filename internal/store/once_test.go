package store_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func onceFor(key, body string) node.IdempotencyKey {
	digest := sha256.Sum256([]byte(body))
	return node.IdempotencyKey{Key: key, Digest: digest[:]}
}

func TestARequestWithAKeyIsDecidedOnce(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Active)
	decided := 0
	request := func(s *store.Store, once node.IdempotencyKey) (*node.Operation, bool, error) {
		return s.RequestOnce(t.Context(), n.UUID, once, func(*node.Node) (*node.Request, error) {
			decided++
			return &node.Request{Open: &node.Operation{Kind: node.KindPower, PowerTarget: node.PowerOff}}, nil
		})
	}
	first, repeated, err := request(s, onceFor("k", "off"))
	require.NoError(t, err)
	require.False(t, repeated)
	again, repeated, err := request(s, onceFor("k", "off"))
	require.NoError(t, err)
	require.True(t, repeated)
	require.Equal(t, first.ID, again.ID)
	_, _, err = request(s, onceFor("k", "on"))
	require.Equal(t, fault.IdempotencyKeyReused, fault.CodeOf(err))
	require.Equal(t, 1, decided)
	_, _, err = request(s, onceFor("other", "off"))
	require.Equal(t, fault.NodeLocked, fault.CodeOf(err), "a refusal is not remembered")
	_, _, err = request(s, onceFor("other", "on"))
	require.Equal(t, fault.NodeLocked, fault.CodeOf(err))
	require.EqualValues(t, 1, ask[int64](t, url, `SELECT count(*) FROM idempotency_keys`))

	keyset, err := store.NewKeyset()
	require.NoError(t, err)
	_, _, err = request(connect(t, store.Config{URL: url, Keyset: keyset}), onceFor("k", "off"))
	require.Equal(t, fault.IdempotencyKeyReused, fault.CodeOf(err), "without its key a digest says nothing")

	require.NoError(t, s.DeleteNode(t.Context(), n.UUID, "ann", always))
	require.EqualValues(t, 0, ask[int64](t, url, `SELECT count(*) FROM idempotency_keys`))
}

// If the database goes away before anything was written, nothing was accepted. Afterwards nobody knows, until the request is sent again.
func TestARequestWhoseCommitIsNotAnsweredIsInDoubt(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Active)
	request := func(decided func()) (*node.Operation, error) {
		o, _, err := s.RequestOnce(t.Context(), n.UUID, onceFor("k", "off"), func(*node.Node) (*node.Request, error) {
			decided()
			return &node.Request{Open: &node.Operation{Kind: node.KindPower, PowerTarget: node.PowerOff}}, nil
		})
		return o, err
	}
	_, err := request(func() {
		raw(t, url, `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`)
	})
	require.Equal(t, fault.RequestInDoubt, fault.CodeOf(err), "%v", err)
	require.True(t, fault.Is(err, fault.Unavailable))
	o, err := request(func() {})
	require.NoError(t, err)
	require.NotNil(t, o)

	away := connect(t, store.Config{URL: "postgres://nobody@127.0.0.1:1/none", Keyset: keyset})
	_, _, err = away.RequestOnce(t.Context(), n.UUID, onceFor("k2", "off"), nil)
	require.Equal(t, fault.DatabaseUnavailable, fault.CodeOf(err), "%v", err)
}

func TestKeysAreFoundAndForgottenByIndex(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Active)
	raw(t, url, `INSERT INTO idempotency_keys (node_id, key, seal, digest, accepted_at)
		SELECT n.id, 'k' || i, 2, '', now() - i * interval '4 seconds' FROM nodes n, generate_series(1, 30000) i`)
	raw(t, url, "ANALYZE idempotency_keys")
	require.NotContains(t, explain(t, url, s, store.OnceStatements(n.UUID, n.Name)), "Seq Scan on idempotency_keys")
	gone, err := s.ForgetRequests(t.Context())
	require.NoError(t, err)
	require.Greater(t, gone, 8000)
	require.EqualValues(t, 0, ask[int64](t, url, `SELECT count(*) FROM idempotency_keys WHERE accepted_at < now() - interval '24 hours'`))
	require.EqualValues(t, 30000-gone, ask[int64](t, url, `SELECT count(*) FROM idempotency_keys`))
}
