package ironic_test

import (
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
