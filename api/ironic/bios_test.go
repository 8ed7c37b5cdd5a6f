package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestBIOSSettingsAreReadingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	const path = "/v1/nodes/n1/bios"
	require.Equal(t, map[string]any{"bios": []any{}}, b.At(40, "GET", path, nil).Is(200))
	require.Equal(t, map[string]any{"bios": []any{}}, b.Get(path+"?detail=true").Is(200))
	b.At(39, "GET", path, nil).Fails(404)
	b.At(73, "GET", path+"?fields=name", nil).Fails(406)
	b.At(73, "GET", path+"?detail=true", nil).Fails(400)
	b.Get(path + "?detail=true&fields=name").Fails(400)
	require.Equal(t, "Node "+id+" doesn't have a BIOS setting 'ProcVirt'", b.Get(path+"/ProcVirt").Fails(404))
	b.Get("/v1/nodes/n2/bios").Fails(404)
	b.Kill("c1", "c2")
	b.Get(path).Is(200)
}

func TestBIOSSettingsAsTheyWereReadLast(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	const path = "/v1/nodes/n1/bios"
	reading := `{"registry": "R", "settings": [
		{"name": "Nodes", "value": "2", "attribute_type": "Integer", "lower_bound": 1, "upper_bound": 4},
		{"name": "SetupPassword", "value": null},
		{"name": "Turbo", "value": "On", "attribute_type": "Enumeration", "allowable_values": ["On", "Off"], "read_only": false}]}`
	b.SQL(`INSERT INTO node_readings (node_id, interface, data, first_at, read_at)
		SELECT id, 'bios', $2::jsonb, '2026-11-01 10:00:00+00', '2026-11-01 10:00:00+00' FROM nodes WHERE uuid = $1`, id, reading)
	const base = "http://temper.test:6385"
	links := func(name string) any {
		self := base + "/v1/nodes/" + id + "/bios/" + name
		return []any{
			map[string]any{"href": self, "rel": "self"},
			map[string]any{"href": base + "/nodes/" + id + "/bios/" + name, "rel": "bookmark"},
		}
	}
	list := b.At(73, "GET", path, nil).Is(200)["bios"].([]any)
	require.Len(t, list, 3)
	require.Equal(t, map[string]any{"name": "Nodes", "value": "2", "created_at": "2026-11-01T10:00:00+00:00", "updated_at": nil, "links": links("Nodes")}, list[0])
	b.SQL(`UPDATE node_readings SET read_at = '2026-11-02 10:00:00+00'`)
	full := map[string]any{
		"name": "Turbo", "value": "On", "created_at": "2026-11-01T10:00:00+00:00", "updated_at": "2026-11-02T10:00:00+00:00", "links": links("Turbo"),
		"attribute_type": "Enumeration", "allowable_values": []any{"On", "Off"}, "lower_bound": nil, "upper_bound": nil, "min_length": nil, "max_length": nil,
		"read_only": false, "reset_required": nil, "unique": nil,
	}
	require.Equal(t, full, b.Get(path + "?detail=True").Is(200)["bios"].([]any)[2])
	require.Equal(t, map[string]any{"Turbo": full}, b.Get(path+"/Turbo").Is(200))
	require.NotContains(t, b.At(73, "GET", path+"/Turbo", nil).Is(200)["Turbo"], "attribute_type")
	some := b.Get(path + "?fields=name,lower_bound").Is(200)["bios"].([]any)[0].(map[string]any)
	require.Contains(t, some, "lower_bound")
	require.NotContains(t, some, "value")
	b.Get(path + "?fields=nonsense").Fails(400)
	b.Get(path + "/turbo").Fails(404)
}
