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
