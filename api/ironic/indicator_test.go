package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNoDriverHasIndicatorsYet(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const path = "/v1/nodes/n1/management/indicators"
	require.Contains(t, b.At(63, "GET", path, nil).Fails(400), "does not support get_supported_indicators (disabled or not implemented)")
	require.Contains(t, b.Get(path+"/led@chassis").Fails(400), "get_indicator_state")
	require.Contains(t, b.Put(path+"/led@chassis", map[string]any{"state": "ON"}).Fails(400), "set_indicator_state")
	b.Put(path+"/led@chassis", map[string]any{}).Fails(400)
	b.At(62, "GET", path, nil).Fails(404)
}
