package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNoDriverSetsTheBootModeYet(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const mode, secure = "/v1/nodes/n1/states/boot_mode", "/v1/nodes/n1/states/secure_boot"
	require.Contains(t, b.At(76, "PUT", mode, map[string]any{"target": "uefi"}).Fails(400), "does not support set_boot_mode (disabled or not implemented)")
	require.Contains(t, b.At(76, "PUT", secure, map[string]any{"target": true}).Fails(400), "does not support set_secure_boot_state (disabled or not implemented)")
	b.At(75, "PUT", mode, map[string]any{"target": "uefi"}).Fails(404)
	b.At(75, "PUT", secure, map[string]any{"target": true}).Fails(404)
	require.Contains(t, b.Put(mode, map[string]any{"target": "x"}).Fails(400), "Invalid boot mode x")
	b.Put(mode, map[string]any{}).Fails(400)
	b.Put(secure, map[string]any{}).Fails(400)
}
