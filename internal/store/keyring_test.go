package store_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// file is a keyset file that changes while processes run.
type file struct {
	mu   sync.Mutex
	text string
	err  error
	told []error
}

func (f *file) read() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text, f.err
}

func (f *file) set(text string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.err = text, err
}

func (f *file) tell(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, err)
}

// A process that meets a value whose key it lacks reads the keyset again, and needs no restart.
func TestAKeysetIsReadAgainWhileProcessesRun(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	f := &file{text: keyset}
	old := connect(t, store.Config{URL: url, ReadKeyset: f.read, KeysetChanged: f.tell})
	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	n := withBMC(t, connect(t, store.Config{URL: url, Keyset: newer}))

	_, err = credentials(t, old, n.UUID)
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(err), "the file is still the old one")
	f.set("", errors.New("it is gone"))
	_, err = credentials(t, old, n.UUID)
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(err))
	f.set("{", nil)
	_, err = credentials(t, old, n.UUID)
	require.Equal(t, fault.SecretUnreadable, fault.CodeOf(err))
	require.Len(t, f.told, 2, "why it can't be read")

	f.set(newer, nil)
	secrets, err := credentials(t, old, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{bmcPassword: "hunter2"}, secrets)
	require.Len(t, f.told, 3)
	require.NoError(t, f.told[2])
	withBMC(t, old)
	uses, err := old.KeyUses(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{0, false, 2, true}, []any{uses[0].Sealed, uses[0].Primary, uses[1].Sealed, uses[1].Primary}, "and it seals with the new key")
}

// A key is prepared, seals, takes over what older ones have sealed, and these are retired when nothing is sealed with them.
func TestOldKeysAreRetired(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := withBMC(t, s)
	prepared, err := store.PrepareKey(keyset)
	require.NoError(t, err)
	between := connect(t, store.Config{URL: url, Keyset: prepared})
	withBMC(t, between)
	uses, err := between.KeyUses(t.Context())
	require.NoError(t, err)
	require.Len(t, uses, 2)
	require.Equal(t, []any{2, true, 0, false}, []any{uses[0].Sealed, uses[0].Primary, uses[1].Sealed, uses[1].Primary})
	_, retired, err := store.RetireKeys(prepared, uses)
	require.NoError(t, err)
	require.Empty(t, retired, "what was prepared stays")

	newer, err := store.AddKey(prepared)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	uses, err = both.KeyUses(t.Context())
	require.NoError(t, err)
	require.Len(t, uses, 2, "the prepared key became the primary one")
	require.True(t, uses[1].Primary)
	_, retired, err = store.RetireKeys(newer, uses)
	require.NoError(t, err)
	require.Empty(t, retired, "the old key is in use")

	var told []int
	count, err := both.Rotate(t.Context(), func(done int) { told = append(told, done) })
	require.NoError(t, err)
	require.Equal(t, 2, count)
	require.Equal(t, 2, told[len(told)-1])
	uses, err = both.KeyUses(t.Context())
	require.NoError(t, err)
	after, retired, err := store.RetireKeys(newer, uses)
	require.NoError(t, err)
	require.Equal(t, []int64{uses[0].ID}, retired)
	last := connect(t, store.Config{URL: url, Keyset: after})
	_, err = credentials(t, last, n.UUID)
	require.NoError(t, err)

	uses, err = s.KeyUses(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Key{ID: uses[1].ID, Sealed: 2, Missing: true}, uses[1], "a process with the old keyset lacks the new key")
}
