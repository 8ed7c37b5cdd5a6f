package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNoDriverTakesARAIDConfigurationYet(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const path = "/v1/nodes/n1/states/raid"
	body := map[string]any{"logical_disks": []any{}}
	require.Contains(t, b.At(12, "PUT", path, body).Fails(404), "does not support raid (disabled or not implemented)")
	b.At(11, "PUT", path, body).Fails(406)
	b.Put(path, []any{}).Fails(400)
}
