package ironic_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestChassis(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	body := b.At(1, "POST", "/v1/chassis", map[string]any{"description": "rack 1", "extra": map[string]any{"a": 1}}).Is(201)
	id := body["uuid"].(string)
	require.Equal(t, "http://temper.test:6385/v1/chassis/"+id, b.Last.Header.Get("Location"))
	require.Equal(t, "http://temper.test:6385/v1/chassis/"+id+"/nodes", body["nodes"].([]any)[0].(map[string]any)["href"])
	empty := b.Post("/v1/chassis", map[string]any{}).Is(201)["uuid"].(string)
	for path, want := range map[string]int{
		"/v1/chassis": 2, "/v1/chassis/detail": 2, "/v1/chassis?detail=true": 2, "/v1/chassis?limit=1": 1, "/v1/chassis?marker=" + id: 1,
		"/v1/chassis?sort_key=description&sort_dir=desc": 2, "/v1/chassis?fields=extra": 2,
	} {
		require.Len(t, b.Get(path).Is(200)["chassis"], want, path)
	}
	shown := b.Get("/v1/chassis?limit=1").Is(200)["chassis"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "description", "links"}, slices.Collect(maps.Keys(shown)))
	require.ElementsMatch(t, []string{"description", "links"}, slices.Collect(maps.Keys(b.Get("/v1/chassis/"+id+"?fields=description").Is(200))))
	require.Contains(t, b.At(1, "GET", "/v1", nil).Is(200), "chassis")

	changed := b.Patch("/v1/chassis/"+id, apitest.Replace("/description", "rack 2"), apitest.Add("/extra/b", 2)).Is(200)
	require.Equal(t, "rack 2", changed["description"])
	require.Equal(t, map[string]any{"a": 1.0, "b": 2.0}, changed["extra"])

	require.Equal(t, "A chassis with UUID "+id+" already exists.", b.Post("/v1/chassis", map[string]any{"uuid": id}).Fails(409))
	b.Post("/v1/chassis", map[string]any{"description": strings.Repeat("x", 256)}).Fails(400)
	b.Post("/v1/chassis", map[string]any{"colour": 1}).Fails(400)
	b.Patch("/v1/chassis/"+id, apitest.Replace("/uuid", uuid.NewString())).Fails(400)
	b.At(7, "GET", "/v1/chassis?fields=extra", nil).Fails(406)
	b.Get("/v1/chassis/rack").Fails(400)
	b.Delete("/v1/chassis/" + empty).Is(204)
	require.Equal(t, "Chassis "+empty+" could not be found.", b.Get("/v1/chassis/"+empty).Fails(404))
}

func TestNodesInAChassis(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Post("/v1/chassis", map[string]any{}).Is(201)["uuid"].(string)
	b.Enrolled("n1")
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n2", "chassis_uuid": strings.ToUpper(id)}).Is(201)
	require.Equal(t, id, b.Field("n2", "chassis_uuid"))
	b.Patch("/v1/nodes/n1", apitest.Add("/chassis_uuid", id)).Is(200)
	for path, want := range map[string]int{
		"/v1/nodes?chassis_uuid=" + id: 2, "/v1/chassis/" + id + "/nodes": 2, "/v1/chassis/" + id + "/nodes/detail": 2, "/v1/chassis/" + id + "/nodes?limit=1": 1,
	} {
		require.Len(t, b.Get(path).Is(200)["nodes"], want, path)
	}
	next := b.Get("/v1/chassis/" + id + "/nodes?limit=1").Is(200)["next"].(string)
	require.Contains(t, next, "/v1/chassis/"+id+"/nodes?limit=1&marker=")

	nobody := uuid.NewString()
	words := "Chassis " + nobody + " could not be found."
	require.Equal(t, words, b.Get("/v1/nodes?chassis_uuid="+nobody).Fails(404))
	require.Equal(t, words, b.Get("/v1/chassis/"+nobody+"/nodes").Fails(404))
	require.Equal(t, words, b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "chassis_uuid": nobody}).Fails(400))
	require.Equal(t, words, b.Patch("/v1/nodes/n1", apitest.Replace("/chassis_uuid", nobody)).Fails(400))
	require.Equal(t, "Cannot complete the requested action because chassis "+id+" contains nodes.", b.Delete("/v1/chassis/"+id).Fails(400))
	b.Patch("/v1/nodes/n1", apitest.Remove("/chassis_uuid")).Is(200)
	b.Delete("/v1/nodes/n2").Is(204)
	b.Delete("/v1/chassis/" + id).Is(204)
}
