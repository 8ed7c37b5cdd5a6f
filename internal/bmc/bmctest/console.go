package bmctest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// openConsole opens and closes the console, unless another conversation has it.
func openConsole(ctx context.Context, s bmc.Session) error {
	c, err := s.OpenConsole(ctx)
	switch {
	case errors.Is(err, bmc.ErrConsoleInUse):
		return nil
	case err != nil:
		return err
	}
	return c.Close()
}

func checkConsole(t *testing.T, b *bench) {
	s := b.open(t)
	if b.lacks(Console) {
		requireRefused(t, openConsole(t.Context(), s))
		return
	}
	b.do(t, func() error { return s.EndConsole(t.Context()) }) // nobody has it
	first, err := s.OpenConsole(t.Context())
	require.NoError(t, err)
	_, err = b.open(t).OpenConsole(t.Context())
	require.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
	require.ErrorIs(t, err, bmc.ErrConsoleInUse)
	_, err = s.Power(t.Context())
	require.NoError(t, err, "commands go on beside it")

	require.NoError(t, first.SetReadDeadline(time.Now().Add(2*b.Settle)))
	require.NoError(t, s.EndConsole(t.Context()))
	for err == nil { // what the server has printed comes first
		_, err = first.Read(make([]byte, 100))
	}
	require.Equal(t, fault.Refused, fault.KindOf(err), "%v", err)
	require.ErrorIs(t, err, bmc.ErrConsoleEnded)
	_, err = first.Write([]byte("x"))
	require.ErrorIs(t, err, bmc.ErrConsoleEnded)
	require.NoError(t, first.Close())

	for range 2 { // closing gives it back
		again, err := s.OpenConsole(t.Context())
		require.NoError(t, err)
		require.NoError(t, again.Close())
		require.NoError(t, again.Close(), "it may be repeated")
	}
}
