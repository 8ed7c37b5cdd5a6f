package api_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestVIFsOfTheNetworkThatKeepsNone(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	const path = "/v1/nodes/n1/vifs"
	for _, minor := range []int{28, newest} {
		b.at(minor, "POST", path, map[string]any{"id": "v1"}).is(204)
		require.Equal(t, map[string]any{"vifs": []any{}}, b.at(minor, "GET", path, nil).is(200))
		b.at(minor, "DELETE", path+"/v1", nil).is(204)
	}
	b.at(67, "POST", path, map[string]any{"id": "v1", "port_uuid": uuid.NewString()}).is(204)
	b.at(66, "POST", path, map[string]any{"id": "v1", "port_uuid": uuid.NewString()}).fails(406)
	for _, body := range []any{map[string]any{}, map[string]any{"id": 1}, map[string]any{"id": "v1", "port_uuid": "p"}, []any{}} {
		b.post(path, body).fails(400)
	}
	b.at(27, "GET", path, nil).fails(404)
	b.at(27, "POST", path, map[string]any{"id": "v1"}).fails(404)
	b.get("/v1/nodes/n2/vifs").fails(404)
}

func TestNoDriverGivesVirtualMediaToUsers(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	const path = "/v1/nodes/n1/vmedia"
	body := map[string]any{"device_type": "cdrom", "image_url": "http://x/i"}
	require.Equal(t, "Driver fake-hardware does not support attach_virtual_media (disabled or not implemented).", b.post(path, body).fails(400))
	require.Contains(t, b.delete(path+"?device_types=cdrom").fails(400), "detach_virtual_media")
	require.Contains(t, b.get(path).fails(400), "get_virtual_media")
	require.Contains(t, b.post(path, map[string]any{"device_type": "cdrom"}).fails(400), "Missing mandatory parameter: image_url")
	b.at(92, "GET", path, nil).fails(404)
	b.at(88, "POST", path, body).fails(404)
}

func TestNoDriverSetsABootDeviceOrHasAConsole(t *testing.T) {
	b := newBench(t).withConductors()
	b.enrolled("n1")
	const boot, console = "/v1/nodes/n1/management/boot_device", "/v1/nodes/n1/states/console"
	const management = "Driver fake-hardware does not support management (disabled or not implemented)."
	require.Equal(t, management, b.get(boot).fails(400))
	require.Equal(t, management, b.get(boot+"/supported").fails(400))
	require.Equal(t, management, b.put(boot, map[string]any{"boot_device": "pxe", "persistent": true}).fails(400))
	require.Contains(t, b.put(boot, map[string]any{"persistent": true}).fails(400), "Missing mandatory parameter: boot_device")
	require.Contains(t, b.get(console).fails(400), "does not support console")
	require.Contains(t, b.put(console, map[string]any{"enabled": false}).fails(400), "does not support console")
	require.Contains(t, b.put(console, map[string]any{}).fails(400), "Missing mandatory parameter: enabled")
}
