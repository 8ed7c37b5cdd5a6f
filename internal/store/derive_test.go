package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/store"
)

func TestAKeyIsDerivedFromThePrimaryKey(t *testing.T) {
	t.Parallel()
	first, err := store.NewKeyset()
	require.NoError(t, err)
	more, err := store.AddKey(first)
	require.NoError(t, err)
	derive := func(keyset, purpose string) [32]byte {
		k, err := store.DeriveKey(keyset, purpose)
		require.NoError(t, err)
		require.NotZero(t, k)
		return k
	}
	again := derive(first, "cookies")
	require.Equal(t, derive(first, "cookies"), again)
	require.NotEqual(t, derive(first, "cookies"), derive(first, "other"))
	require.NotEqual(t, derive(first, "cookies"), derive(more, "cookies"))
	_, err = store.DeriveKey("{}", "cookies")
	require.Error(t, err)
}
