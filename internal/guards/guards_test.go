package guards_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/guards"
)

func TestWhatIsBuiltWithoutTagsIsGuardedAndStopsNowhere(t *testing.T) {
	require.True(t, guards.ClaimCheck)
	require.True(t, guards.WaitForCancellation)
	require.True(t, guards.BegunAt)
	require.True(t, guards.LookBeforeAct)
	require.True(t, guards.RejectDuplicate)
	require.False(t, chaos.On)
}
