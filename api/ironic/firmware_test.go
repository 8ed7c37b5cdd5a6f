package ironic_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestFirmwareComponentsAreReadingsOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Kill("c1", "c2")
	require.Equal(t, map[string]any{"firmware": []any{}}, b.At(86, "GET", "/v1/nodes/n1/firmware", nil).Is(200))
	b.At(85, "GET", "/v1/nodes/n1/firmware", nil).Fails(404)
	b.Get("/v1/nodes/n2/firmware").Fails(404)
}

func TestFirmwareAsItWasReadLast(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	id := b.Enrolled("n1")
	b.SQL(`INSERT INTO node_readings (node_id, interface, data, first_at, read_at)
		SELECT id, 'firmware', $2::jsonb, '2026-11-01 10:00:00+00', '2026-11-02 10:00:00+00' FROM nodes WHERE uuid = $1`, id,
		`{"components": [{"component": "bios", "initial": "1.0", "current": "1.1", "flashed": "1.1"}, {"component": "bmc", "initial": "2.0", "current": "2.0"}]}`)
	at := map[string]any{"created_at": "2026-11-01T10:00:00+00:00", "updated_at": "2026-11-02T10:00:00+00:00"}
	with := func(component, initial, current string, flashed any) map[string]any {
		out := maps.Clone(at)
		out["component"], out["initial_version"], out["current_version"], out["last_version_flashed"] = component, initial, current, flashed
		return out
	}
	require.Equal(t, map[string]any{"firmware": []any{with("bios", "1.0", "1.1", "1.1"), with("bmc", "2.0", "2.0", nil)}}, b.Get("/v1/nodes/n1/firmware").Is(200))
}
