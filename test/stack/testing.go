package stack

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
)

// Root is the folder of the module, as a test of a package two folders below it sees it.
const Root = "../.."

// RequirePostgres skips the test if PostgreSQL is not installed. If TEMPER_TEST_REQUIRE is set, the test fails.
func RequirePostgres(t testing.TB) {
	t.Helper()
	_, err := pgserver.Find()
	if errors.Is(err, pgserver.ErrNotFound) && os.Getenv("TEMPER_TEST_REQUIRE") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// For starts a stack for a test, with the programs of the module as it is now, and ends it with the test. If the test fails, the stack's data
// and logs are kept.
func (c Config) For(t testing.TB) *Stack {
	t.Helper()
	RequirePostgres(t)
	var err error
	if c.Temper == "" {
		c.Temper, err = Temper(t.Context(), Root)
		require.NoError(t, err)
	}
	s, err := c.Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("data and logs are in %s", s.Dir)
			require.NoError(t, s.End())
			return
		}
		require.NoError(t, s.Stop())
	})
	return s
}
