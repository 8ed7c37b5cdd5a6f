package ironic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

const mediaPath = "/v1/nodes/n1/vmedia"

func TestVirtualMediaAreAttachedByAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.At(89, "POST", mediaPath, map[string]any{"device_type": "cdrom", "image_url": "http://images/tools.iso?token=hunter2", "image_download_source": "http"}).Is(204)
	s := asked(t, b, node.KindAttachMedia)
	require.Equal(t, "management.attach_virtual_media", s.Name())
	require.Equal(t, "cdrom", s.Args["device_type"])
	require.NotContains(t, s.Args["image_url"], "hunter2", "what may be secret is sealed")
	require.Contains(t, b.Delete(mediaPath).Fails(409), "is locked by host")
}

func TestVirtualMediaAreDetachedByAnOperation(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.At(89, "DELETE", mediaPath+"?device_types=cdrom,disk", nil).Is(204)
	require.Equal(t, map[string]any{"device_types": []any{"cdrom", "disk"}}, asked(t, b, node.KindDetachMedia).Args)
}

// An agent may still run from the medium.
func TestVirtualMediaOfARescueStay(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.MoveTo(b.Enrolled("n1"), node.Rescue)
	require.Contains(t, b.Delete(mediaPath).Fails(400), "may still need the virtual medium")
}

func TestVirtualMediaThatAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "management_interface": "noop"}).Is(201)
	body := map[string]any{"device_type": "cdrom", "image_url": "http://x/i"}
	b.Post(mediaPath, body).Fails(400)
	require.Contains(t, b.Get(mediaPath).Fails(400), "get_virtual_media")
	for words, body := range map[string]map[string]any{
		"Missing mandatory parameter: image_url":   {"device_type": "cdrom"},
		"Missing mandatory parameter: device_type": {"image_url": "http://x/i"},
		"Invalid device_type tape":                 {"device_type": "tape", "image_url": "http://x/i"},
		"Invalid image_url":                        {"device_type": "cdrom", "image_url": "file:///etc/passwd"},
		"Invalid image_download_source local":      {"device_type": "cdrom", "image_url": "http://x/i", "image_download_source": "local"},
	} {
		require.Contains(t, b.Post(mediaPath, body).Fails(400), words)
	}
	require.Contains(t, b.Delete(mediaPath+"?device_types=tape").Fails(400), "Invalid device_types tape")
	b.At(92, "GET", mediaPath, nil).Fails(404)
	b.At(88, "POST", mediaPath, body).Fails(404)
}

func TestVirtualDrivesAreListed(t *testing.T) {
	t.Parallel()
	b := managed(t, node.End{Outcome: node.Succeeded})
	b.Operations.Reading = node.BMCReading{Media: []node.MediaDrive{{Types: []string{"CD"}, Inserted: true, Image: "http://images/a.iso"}}}
	var list []map[string]any
	require.NoError(t, json.Unmarshal(b.At(93, "GET", mediaPath, nil).Body, &list))
	require.Equal(t, []map[string]any{{"media_types": []any{"CD"}, "inserted": true, "image": "http://images/a.iso"}}, list)
}
