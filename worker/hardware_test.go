package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
)

func TestEveryHardwareTypeHasADriver(t *testing.T) {
	h, err := worker.NewHardware(node.HardwareTypes(), worker.HardwareConfig{Log: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(func() { h.Close(t.Context()) })
	enabled := h.Enabled()
	for _, name := range node.HardwareTypes() {
		hw, _ := node.Hardware(name)
		require.Equal(t, hw.Supports(), enabled[name])
	}
	_, err = worker.NewHardware([]string{"abacus"}, worker.HardwareConfig{Log: zap.NewNop()})
	for _, name := range node.HardwareTypes() {
		require.ErrorContains(t, err, name)
	}
}
