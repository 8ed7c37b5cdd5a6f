package temper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

// sicken records that a node has a failed fan.
func sicken(t *testing.T, b *apitest.Bench, ident string, at time.Time) {
	t.Helper()
	n, err := b.Store.Node(t.Context(), ident)
	require.NoError(t, err)
	require.NoError(t, b.Store.RecordHealth(t.Context(), []node.HealthSeen{{ID: n.ID, Health: node.Health{
		Status: node.HealthCritical, Since: &at, ReadAt: &at,
		Reasons: []node.HealthReason{{Kind: node.ComponentFan, Name: "Fan 1", Severity: node.HealthCritical, Message: "The fan stands still.", Since: at}},
	}}}))
}

func TestTheHealthOfANodeIsShown(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.In("n1", node.Available)
	b.In("n2", node.Active)
	require.Equal(t, map[string]any{
		"node_uuid": uuid, "node_name": "n1", "status": "unknown", "reasons": []any{}, "since": nil, "read_at": nil, "withheld": false,
	}, b.Get("/temper/v1/nodes/n1/health").Is(200))
	at := time.Now().UTC().Add(-3 * time.Minute).Truncate(time.Second)
	shown := at.Format("2006-01-02T15:04:05+00:00")
	sicken(t, b, "n1", at)
	sicken(t, b, "n2", at)
	sick := b.Get("/temper/v1/nodes/" + uuid + "/health").Is(200)
	require.Equal(t, map[string]any{
		"node_uuid": uuid, "node_name": "n1", "status": "critical", "since": shown, "read_at": shown, "withheld": false, "reasons": []any{map[string]any{
			"kind": "fan", "name": "Fan 1", "severity": "critical", "message": "The fan stands still.", "since": shown,
		}},
	}, sick)
	var all []any
	for path := "/temper/v1/nodes/health?limit=1&status=critical"; path != ""; {
		body := b.Get(path).Is(200)
		all = append(all, body["nodes"].([]any)...)
		next, _ := body["next"].(string)
		path = strings.TrimPrefix(next, "http://temper.test:6385")
	}
	require.Len(t, all, 2)
	require.Equal(t, sick, all[0])
	require.Empty(t, b.Get("/temper/v1/nodes/health?status=ok").Is(200)["nodes"])
	b.Get("/temper/v1/nodes/health?status=ill").Fails(400)
	b.Get("/temper/v1/nodes/health?marker=x").Fails(400)
	b.Get("/temper/v1/nodes/n9/health").Fails(404)
}

type withholding struct{ api.Store }

func (w withholding) NodeHealth(ctx context.Context, ident string) (*node.NodeHealth, error) {
	h, err := w.Store.NodeHealth(ctx, ident)
	if err == nil {
		h.Withheld = h.Status == node.HealthCritical
	}
	return h, err
}

func TestACriticalHealthIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*api.Config)
		want   string
	}{
		"offered":  {func(*api.Config) {}, "It is offered all the same (unhealthy_nodes)"},
		"withheld": {func(c *api.Config) { c.Store = withholding{c.Store} }, "It is offered to nobody until its BMC says something better (unhealthy_nodes)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := apitest.New(t, c.change).WithConductors()
			b.In("n1", node.Available)
			why := b.Get("/temper/v1/nodes/n1/why").Is(200)
			require.Nil(t, why["cause"])
			sicken(t, b, "n1", time.Now().Add(-3*time.Minute))
			why = b.Get("/temper/v1/nodes/n1/why").Is(200)
			require.Equal(t, "hardware_unhealthy", why["cause"])
			require.Contains(t, why["text"], "Its health is critical since ")
			require.Contains(t, why["text"], ": fan Fan 1: The fan stands still. "+c.want)
			require.Contains(t, why["text"], "What to do: Replace or mend the parts")
			require.Contains(t, why["commands"], "temper node health n1")
			needs := b.Get("/temper/v1/why").Is(200)["nodes"].([]any)
			require.Len(t, needs, 1)
			require.Equal(t, "unhealthy", needs[0].(map[string]any)["reason"])
			require.Equal(t, "It has hardware in critical health: fan Fan 1: The fan stands still", needs[0].(map[string]any)["sentence"])
		})
	}
}
