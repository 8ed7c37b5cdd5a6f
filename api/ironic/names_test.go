package ironic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNamesByVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n_1~x")
	old := b.At(4, "GET", "/v1/nodes/n_1~x", nil)
	require.Equal(t, "Node n_1~x could not be found.", old.Fails(404), "no names yet")
	require.Equal(t, []string{
		"temper node show n_1~x shows it; a request takes a node's name only with the header X-OpenStack-Ironic-API-Version: 1.5 or later",
		"temper node list shows which there are",
	}, old.Refused(404).Commands())
	require.Empty(t, b.At(4, "GET", "/v1/nodes/00000000-0000-0000-0000-000000000009", nil).Refused(404).Commands()[1:], "a UUID is one in each version")
	b.At(9, "GET", "/v1/nodes/n_1~x", nil).Fails(400)
	require.Equal(t, "n_1~x", b.At(10, "GET", "/v1/nodes/n_1~x", nil).Is(200)["name"])
	for _, bad := range []string{"has space", "a/b", "", "detail", "states", "1be26c0b-03f2-4d2e-ae87-c02d7f33c123", strings.Repeat("a", 300)} {
		b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": bad}).Fails(400)
		b.Patch("/v1/nodes/n_1~x", apitest.Replace("/name", bad)).Fails(400)
	}
}
