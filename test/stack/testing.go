package stack

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
)

// Root is the folder of the module, as a test of a package two folders below it sees it.
const Root = "../.."

var built = sync.OnceValues(func() (string, error) { return Temper(context.Background(), Root) })

// RequirePostgres skips the test if PostgreSQL is not installed. If TEMPER_TEST_REQUIRE is set, the test fails.
func RequirePostgres(t testing.TB) {
	t.Helper()
	_, err := pgserver.Find()
	if errors.Is(err, pgserver.ErrNotFound) && os.Getenv("TEMPER_TEST_REQUIRE") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
}

// Folder makes a folder for a stack, which is kept if the test fails.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := MakeFolder()
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("data and logs are in %s", dir)
			return
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// For starts a stack for a test, with the programs of the module as it is now, and ends it with the test. Unless the config says
// where, it runs in a Folder.
func (c Config) For(t testing.TB) *Stack {
	t.Helper()
	RequirePostgres(t)
	var err error
	if c.Temper == "" {
		c.Temper, err = built()
		require.NoError(t, err)
	}
	if c.Dir == "" {
		c.Dir = Folder(t)
	}
	s, err := c.Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.End()) })
	return s
}
