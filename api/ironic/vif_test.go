package ironic_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestVIFsOfTheNetworkThatKeepsNone(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const path = "/v1/nodes/n1/vifs"
	for _, minor := range []int{28, apitest.Newest} {
		b.At(minor, "POST", path, map[string]any{"id": "v1"}).Is(204)
		require.Equal(t, map[string]any{"vifs": []any{}}, b.At(minor, "GET", path, nil).Is(200))
		b.At(minor, "DELETE", path+"/v1", nil).Is(204)
	}
	b.At(67, "POST", path, map[string]any{"id": "v1", "port_uuid": uuid.NewString()}).Is(204)
	both := map[string]any{"id": "v1", "port_uuid": uuid.NewString(), "portgroup_uuid": uuid.NewString()}
	require.Contains(t, b.At(67, "POST", path, both).Fails(400), "Cannot specify both")
	b.At(66, "POST", path, both).Is(204)
	b.Post(path, map[string]any{"id": "v1", "switch": map[string]any{"port": 7}}).Is(204)
	for _, body := range []any{map[string]any{}, map[string]any{"id": 1}, map[string]any{"id": "a b"}, []any{}} {
		b.Post(path, body).Fails(400)
	}
	b.At(27, "GET", path, nil).Fails(404)
	b.At(27, "POST", path, map[string]any{"id": "v1"}).Fails(404)
	b.Get("/v1/nodes/n2/vifs").Fails(404)
}
