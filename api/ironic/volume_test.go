package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestVolume(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	for path, want := range map[string]string{"/v1/volume": "/v1/volume/connectors", "/v1/nodes/n1/volume": "/v1/nodes/" + n1 + "/volume/connectors"} {
		body := b.Get(path).Is(200)
		require.Equal(t, "http://temper.test:6385"+want, body["connectors"].([]any)[0].(map[string]any)["href"])
		require.Contains(t, body, "targets")
		require.Contains(t, body, "links")
		b.At(31, "GET", path, nil).Fails(404)
	}
	b.Get("/v1/nodes/nosuch/volume").Fails(404)
	b.Get("/v1/volume?x=1").Fails(400)
}
