package testenv_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	a, b := testenv.Postgres(t), testenv.Postgres(t)
	require.NotEqual(t, a, b)
	conn, err := pgx.Connect(t.Context(), a)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "INSERT INTO nodes (uuid, driver, provision_state) VALUES (gen_random_uuid(), 'fake-hardware', 'enroll')")
	require.NoError(t, err, "it is migrated")
	other, err := store.Open(t.Context(), store.Config{URL: b})
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Ready(t.Context()))
}
