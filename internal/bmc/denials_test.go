package bmc_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestRefusedCredentialsAreNotTriedForAWhile(t *testing.T) {
	var d bmc.Denials
	now := time.Now()
	wrong, other := [32]byte{1}, [32]byte{2}
	require.True(t, d.None(now))
	d.Record(wrong, now.Add(time.Minute), fault.Coded(fault.BMCWrongPassword, "401 Unauthorized"))

	err := d.Recent(wrong, now.Add(20*time.Second))
	require.True(t, fault.Is(err, fault.Denied))
	require.Equal(t, fault.BMCWrongPassword, fault.CodeOf(err))
	require.ErrorContains(t, err, "401 Unauthorized; this login is not tried again before "+now.Add(time.Minute).UTC().Format("15:04:05Z"))
	require.NoError(t, d.Recent(other, now))
	require.False(t, d.None(now))

	require.NoError(t, d.Recent(wrong, now.Add(time.Minute)))
	require.True(t, d.None(now), "it was forgotten when its time was over")
}
