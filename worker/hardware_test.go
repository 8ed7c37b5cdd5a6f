package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/worker"
)

func TestPropertiesAreThoseOfTheBMCAndOfTheBootInterface(t *testing.T) {
	h, err := worker.NewHardware(node.HardwareTypes(), bmc.Settings{}, fake.Delays{}, nil, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { h.Close(t.Context()) })
	redfish := h.Properties("redfish")
	require.Contains(t, redfish, "redfish_address")
	require.Contains(t, redfish["deploy_iso"], "Required by the boot interface redfish-virtual-media")
	require.NotContains(t, h.Properties("fake-hardware"), "deploy_iso")
	require.Nil(t, h.Properties("ipmi"))
}
