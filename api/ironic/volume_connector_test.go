package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestVolumeConnectors(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	const path, iqn = "/v1/volume/connectors", "iqn.2017-07.org.openstack:01:d9a51732c3f"
	body := b.Post(path, map[string]any{"node_uuid": n1, "type": "iqn", "connector_id": iqn, "extra": map[string]any{"a": 1}}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385"+path+"/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, iqn, body["connector_id"])
	b.Post(path, map[string]any{"node_uuid": n2, "type": "ip", "connector_id": "10.0.0.2"}).Is(201)
	for query, want := range map[string]int{
		path: 2, path + "?detail=true": 2, path + "?node=n1": 1, path + "?limit=1": 1, path + "?marker=" + id: 1, "/v1/nodes/n2/volume/connectors": 1,
		path + "?sort_key=connector_id&sort_dir=desc": 2, "/v1/nodes/" + n1 + "/volume/connectors?detail=true": 1,
	} {
		require.Len(t, b.Get(query).Is(200)["connectors"], want, query)
	}
	first := b.Get(path + "?limit=1").Is(200)
	require.Equal(t, "http://temper.test:6385"+path+"?limit=1&marker="+id, first["next"])
	require.ElementsMatch(t, []string{"uuid", "node_uuid", "type", "connector_id", "links"}, slices.Collect(maps.Keys(first["connectors"].([]any)[0].(map[string]any))))
	require.ElementsMatch(t, []string{"type", "links"}, slices.Collect(maps.Keys(b.Get(path+"/"+id+"?fields=type").Is(200))))

	require.Contains(t, b.Patch(path+"/"+id, apitest.Replace("/type", "port")).Fails(400), `can not be performed on node "`+n1+`" while it is in state "None"`)
	require.Contains(t, b.Delete(path+"/"+id).Fails(400), `"volume connector deletion"`)
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	changed := b.Patch(path+"/"+id, apitest.Replace("/type", "port"), apitest.Add("/extra/b", 2), apitest.Replace("/node_uuid", n2)).Is(200)
	require.Equal(t, "port", changed["type"])
	require.Equal(t, n2, changed["node_uuid"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, changed["extra"])
	b.Put("/v1/nodes/n2/states/provision", map[string]any{"target": "manage"}).Is(202)
	require.Contains(t, b.Patch(path+"/"+id, apitest.Replace("/type", "iqn")).Fails(409), "is locked by host")
	b.Delete(path + "/" + id).Fails(409)
	b.Patch(path+"/"+id, apitest.Replace("/node_uuid", n1)).Is(200)
	b.Delete(path + "/" + id).Is(204)
	require.Equal(t, "Volume connector "+id+" could not be found.", b.Get(path+"/"+id).Fails(404))
	b.Post(path, map[string]any{"node_uuid": n1, "type": "ip", "connector_id": "10.0.0.1"}).Is(201)
	b.Delete("/v1/nodes/n1").Is(204)
	require.Len(t, b.Get(path).Is(200)["connectors"], 1, "they go with their node")
}

func TestVolumeConnectorsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	const path = "/v1/volume/connectors"
	id := b.Post(path, map[string]any{"node_uuid": n1, "type": "ip", "connector_id": "10.0.0.2"}).Is(201)["uuid"].(string)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		words  string
	}{
		"no type":         {map[string]any{"node_uuid": n1, "connector_id": "x"}, 400, "'type' is a required property"},
		"no node":         {map[string]any{"type": "ip", "connector_id": "x"}, 400, "'node_uuid' is a required property"},
		"nobody's node":   {map[string]any{"node_uuid": uuid.NewString(), "type": "ip", "connector_id": "x"}, 400, "could not be found"},
		"one that is":     {map[string]any{"node_uuid": n1, "type": "ip", "connector_id": "10.0.0.2"}, 409, "A volume connector with type ip and connector ID 10.0.0.2 already exists."},
		"a uuid that is":  {map[string]any{"uuid": id, "node_uuid": n1, "type": "ip", "connector_id": "x"}, 409, "A volume connector with UUID " + id + " already exists."},
		"a number":        {map[string]any{"node_uuid": n1, "type": "ip", "connector_id": 5}, 400, "is not of type"},
		"what is unknown": {map[string]any{"node_uuid": n1, "type": "ip", "connector_id": "x", "colour": 1}, 400, "Unexpected arguments: colour"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post(path, c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	b.At(31, "GET", path, nil).Fails(404)
	b.At(31, "POST", path, map[string]any{}).Fails(404)
	b.At(32, "GET", path+"?detail=true", nil).Is(200)
	b.Get(path + "/name").Fails(400)
	b.Get(path + "?fields=type&detail=true").Fails(400)
	b.Patch(path+"/"+id, apitest.Remove("/type")).Fails(400)
	b.Patch(path+"/"+id, apitest.Replace("/uuid", uuid.NewString())).Fails(400)
	b.Patch(path+"/"+id, apitest.Replace("/node_uuid", uuid.NewString())).Fails(400)
}
