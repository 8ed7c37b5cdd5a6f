package temper_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
)

func readyFunc(err *error) func(context.Context) error {
	return func(context.Context) error { return *err }
}

func TestHealth(t *testing.T) {
	t.Parallel()
	ready := error(nil)
	b := apitest.New(t, func(c *api.Config) { c.Ready = readyFunc(&ready) })
	b.Get("/temper/v1/healthz").Is(200)
	b.Get("/temper/v1/readyz").Is(200)
	ready = fault.New(fault.Unavailable, "temporal at 10.0.0.1 is away")
	require.NotContains(t, string(b.Get("/temper/v1/readyz").Body), "10.0.0.1")
	require.Equal(t, 503, b.Last.Status)
	require.Equal(t, []any{"the log says why"}, b.Last.Is(503)["reasons"])
	away := func(reason string) error {
		return &api.Missing{Reason: reason, Err: errors.New("dial 10.0.0.1: password wrong")}
	}
	ready = errors.Join(away("PostgreSQL does not answer"), fmt.Errorf("wait: %w", away("Temporal does not answer")))
	body := b.Get("/temper/v1/readyz").Is(503)
	require.Equal(t, map[string]any{
		"status": "not ready", "reasons": []any{"PostgreSQL does not answer", "Temporal does not answer"},
		"code": "unavailable", "help": []any{},
	}, body)
	b.Get("/temper/v1/healthz").Is(200)
	b.Get("/temper/v1/nosuch").Fails(404)
}
