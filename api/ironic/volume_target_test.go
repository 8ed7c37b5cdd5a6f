package ironic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestVolumeTargets(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	const path = "/v1/volume/targets"
	target := func(of string, index int) map[string]any {
		return map[string]any{"node_uuid": of, "volume_type": "iscsi", "boot_index": index, "volume_id": uuid.NewString()}
	}
	first := target(n1, 0)
	first["properties"] = map[string]any{"target_iqn": "iqn.x", "auth_username": "u", "auth_password": "hunter2"}
	body := b.Post(path, first).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385"+path+"/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, map[string]any{"target_iqn": "iqn.x", "auth_username": "u", "auth_password": "******"}, body["properties"])
	require.EqualValues(t, 0, body["boot_index"])
	b.Post(path, target(n1, 1)).Is(201)
	b.Post(path, target(n2, 0)).Is(201)
	for query, want := range map[string]int{
		path: 3, path + "?detail=true": 3, path + "?node=n1": 2, path + "?limit=1": 1, path + "?marker=" + id: 2, "/v1/nodes/n2/volume/targets": 1,
		path + "?sort_key=boot_index&sort_dir=desc": 3,
	} {
		require.Len(t, b.Get(query).Is(200)["targets"], want, query)
	}
	shown := b.Get(path + "?limit=1").Is(200)["targets"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id", "links"}, slices.Collect(maps.Keys(shown)))

	changed := b.Patch(path+"/"+id, apitest.Replace("/boot_index", 7), apitest.Add("/properties/target_lun", 1)).Is(200)
	require.EqualValues(t, 7, changed["boot_index"])
	require.Equal(t, "******", changed["properties"].(map[string]any)["auth_password"])
	v, err := b.Store.VolumeTarget(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"/auth_password": "hunter2"}, v.Hidden.Clear, "a change of something else keeps it")
	b.Patch(path+"/"+id, apitest.Replace("/properties/auth_password", "swordfish")).Is(200)
	require.NotContains(t, b.Text(`SELECT t.*::text FROM volume_targets t WHERE uuid = '`+id+`'`), "swordfish", "it is sealed")
	v, err = b.Store.VolumeTarget(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"/auth_password": "swordfish"}, v.Hidden.Clear)
	b.Patch(path+"/"+id, apitest.Remove("/properties")).Is(200)
	require.Equal(t, "none", b.Text(`SELECT coalesce(ciphertext::text, 'none') FROM volume_targets WHERE uuid = '`+id+`'`))

	b.SQL(`UPDATE nodes SET power_state = 'power on'`)
	require.Contains(t, b.Patch(path+"/"+id, apitest.Replace("/boot_index", 3)).Fails(400), `"volume target update" can not be performed on node "`+n1+`" while it is in state "power on"`)
	require.Contains(t, b.Delete(path+"/"+id).Fails(400), `"volume target deletion"`)
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	b.Delete(path + "/" + id).Is(204)
	require.Equal(t, "Volume target "+id+" could not be found.", b.Get(path+"/"+id).Fails(404))
	b.Delete("/v1/nodes/n1").Is(204)
	require.Len(t, b.Get(path).Is(200)["targets"], 1, "they go with their node")
}

func TestVolumeTargetsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	b.SQL(`UPDATE nodes SET power_state = 'power off'`)
	const path = "/v1/volume/targets"
	with := func(name string, v any) map[string]any {
		body := map[string]any{"node_uuid": n1, "volume_type": "iscsi", "boot_index": 1, "volume_id": "v"}
		if body[name] = v; v == nil {
			delete(body, name)
		}
		return body
	}
	id := b.Post(path, with("boot_index", 0)).Is(201)["uuid"].(string)
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		words  string
	}{
		"no volume":            {with("volume_id", nil), 400, "'volume_id' is a required property"},
		"an index that is":     {with("boot_index", 0), 409, "A volume target with boot index '0' for the same node already exists."},
		"an index in words":    {with("boot_index", "first"), 400, "is not of type 'integer'"},
		"half an index":        {with("boot_index", 0.5), 400, "is not of type 'integer'"},
		"nobody's node":        {with("node_uuid", uuid.NewString()), 400, "could not be found"},
		"a mask for a secret":  {with("properties", map[string]any{"password": "******"}), 400, "stands for a secret that was not given"},
		"properties in a list": {with("properties", []any{1}), 400, "is not of type 'object', 'null'"},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			require.Contains(t, b.Post(path, c.body).Fails(c.status), c.words)
		})
	}
	b.T = t
	b.At(31, "GET", path, nil).Fails(404)
	b.Patch(path+"/"+id, apitest.Remove("/boot_index")).Fails(400)
	b.Get(path + "?sort_key=properties").Fails(400)
}
