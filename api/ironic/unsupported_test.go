package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNoDriverGivesVirtualMediaToUsers(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	const path = "/v1/nodes/n1/vmedia"
	body := map[string]any{"device_type": "cdrom", "image_url": "http://x/i"}
	require.Equal(t, "Driver fake-hardware does not support attach_virtual_media (disabled or not implemented).", b.Post(path, body).Fails(400))
	require.Contains(t, b.Delete(path+"?device_types=cdrom").Fails(400), "detach_virtual_media")
	require.Contains(t, b.Get(path).Fails(400), "get_virtual_media")
	require.Contains(t, b.Post(path, map[string]any{"device_type": "cdrom"}).Fails(400), "Missing mandatory parameter: image_url")
	b.At(92, "GET", path, nil).Fails(404)
	b.At(88, "POST", path, body).Fails(404)
}
