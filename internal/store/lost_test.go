package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheWordThatTemporalLostItsDataHoldsForAWhile(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	said := func(want string) {
		t.Helper()
		by, err := s.SaidLostTemporal(t.Context(), 10*time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, by)
	}
	said("")
	require.NoError(t, s.SayLostTemporal(t.Context(), "ann", "restored from yesterday"))
	require.NoError(t, s.SayLostTemporal(t.Context(), "bob", "again"))
	said("bob")
	raw(t, url, `UPDATE lost_temporal SET said_at = said_at - interval '11 minutes' WHERE said_by = 'bob'`)
	said("ann")
	raw(t, url, `UPDATE lost_temporal SET said_at = said_at - interval '11 minutes'`)
	said("")
	require.Equal(t, 2, ask[int](t, url, `SELECT count(*) FROM lost_temporal`), "who said it and why is kept")
}
