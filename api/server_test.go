package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

// stubStore panics at every call, for a test of how a handler's panic is answered.
type stubStore struct{ api.Store }

func TestAPanicIsAnswered(t *testing.T) {
	t.Parallel()
	server, err := api.New(api.Config{Store: stubStore{}, Operations: &apitest.Operations{}, Drivers: apitest.Drivers{}})
	require.NoError(t, err)
	b := &apitest.Bench{T: t, Handler: server.Handler()}
	require.Equal(t, "Internal error", b.Get("/v1/nodes").Fails(500))
	require.Equal(t, http.StatusOK, b.Get("/").Status)
}
