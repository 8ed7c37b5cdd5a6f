package temper_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/api/temper"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestAnEventOfABMCIsTakenByItsSecretAlone(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.DebugLevel)
	b := apitest.New(t, func(c *api.Config) { c.Log = zap.New(core) })
	secret := strings.Repeat("s3", 21) + "x"
	require.NoError(t, b.Store.OpenBMCSubscription(t.Context(), "c1", "https://bmc", node.SubscriptionID(secret)))
	b.Post(node.EventPath+secret, map[string]any{"Events": []any{}}).Is(204)
	b.Post(node.EventPath+strings.Repeat("y", 43), map[string]any{}).Fails(404)
	b.Post(node.EventPath+"short", map[string]any{}).Fails(404)
	require.NotEmpty(t, logged.All())
	for _, line := range logged.All() {
		for _, field := range line.Context {
			require.NotContains(t, field.String, secret, "the log has the secret")
		}
	}
}

func TestMoreEventsOfBMCsThanAreTakenAreRefused(t *testing.T) {
	t.Parallel()
	err := temper.BMCEventAboveTheRate()
	require.True(t, fault.Is(err, fault.Busy), "%v", err)
}
