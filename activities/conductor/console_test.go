package conductor

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
)

// foreignConsole is the console of a BMC that another session has.
type foreignConsole struct{ ended int }

func (f *foreignConsole) OpenConsole(context.Context) (bmc.Console, error) {
	return nil, bmc.ErrConsoleInUse
}

func (f *foreignConsole) EndConsole(context.Context) error {
	f.ended++
	return nil
}

// A holder takes the console from a session only as long as it can be that of the holder before.
func TestAConsoleIsTakenOnlyFromASessionThatWasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		left    bool
		claimed time.Duration // ago
		ends    int
	}{
		"left by the holder before":         {left: true, ends: 1},
		"left so long ago that it is over":  {left: true, claimed: leftBehind, ends: 0},
		"the holder before has given it up": {left: false, ends: 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := heldConsole{ConsoleHeld: node.ConsoleHeld{Left: c.left}, claimed: time.Now().Add(-c.claimed)}
			var f foreignConsole
			_, err := h.openIn(t.Context(), bmc.Session{ConsoleOpener: &f})
			require.ErrorIs(t, err, bmc.ErrConsoleInUse)
			require.Equal(t, c.ends, f.ended)
		})
	}
}
