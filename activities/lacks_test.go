package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// The entry of a hardware type has virtual media, but its driver does not implement it.
func TestAStepSaysWhatTheDriverLacks(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.machine.noMedia = true
	_, err := b.run()
	require.Equal(t, fault.Invalid.String(), kindOf(err))
	require.True(t, final(err))
	require.ErrorContains(t, err, "Driver redfish does not support virtual media (disabled or not implemented).")
	require.Empty(t, b.machine.asked)
}
