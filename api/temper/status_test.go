package temper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/help"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
)

// partsOf are the parts of an answer of the status, by name.
func partsOf(body map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, p := range body["parts"].([]any) {
		part := p.(map[string]any)
		out[part["name"].(string)] = part
	}
	return out
}

// conductorsLate returns the value of the metric temper_conductors_late.
func conductorsLate(t *testing.T, metrics prometheus.Gatherer) float64 {
	families, err := metrics.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "temper_conductors_late" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func TestTheStatusNamesThePartThatIsBroken(t *testing.T) {
	t.Parallel()
	var away status.Dependencies
	metrics := prometheus.NewRegistry()
	b := apitest.New(t, func(c *api.Config) {
		c.Ask, c.Metrics = func(context.Context) status.Dependencies { return away }, metrics
	}).WithConductors()
	require.NoError(t, b.Store.Reconciled(t.Context()))
	body := b.Get("/temper/v1/status").Is(200)
	require.Equal(t, true, body["ok"], body)
	require.Empty(t, body["broken"])
	require.Len(t, partsOf(body), 7)

	since := time.Now().Add(-12 * time.Second)
	away.Temporal = status.Answer{Trouble: status.TemporalAway, Since: since, Address: "temporal.example:7233", Err: errors.New("dial 10.0.0.1")}
	require.Equal(t, "Temporal does not answer this API; other processes of Temper reach it", partsOf(b.Get("/temper/v1/status").Is(200))["temporal"]["message"])
	b.SQL("UPDATE witness SET contact_at = contact_at - interval '1 minute'")
	body = b.Get("/temper/v1/status").Is(200)
	require.Equal(t, []any{"temporal"}, body["broken"])
	require.NotContains(t, string(b.Last.Body), "10.0.0.1")
	temporal := partsOf(body)["temporal"]
	require.Equal(t, "Temporal does not answer", temporal["message"])
	require.Contains(t, temporal["works"], "requests are accepted")
	require.Contains(t, temporal["check"], "This API tries temporal.example:7233 (setting temporal_address).")
	require.NotNil(t, temporal["since"])
	b.In("n1", node.Available)
	require.Contains(t, b.Get("/temper/v1/nodes/n1/why").Is(200)["trouble"].([]any)[0], "Temporal does not answer since ")
	b.In("n2", node.Deploying)
	why := b.Get("/temper/v1/nodes/n2/why").Is(200)["text"]
	require.Contains(t, why, "Temporal does not answer since ")
	require.NotContains(t, why, "orchestrator")
	away.Temporal = status.Answer{}

	_, err := b.Store.Witness(t.Context(), time.Time{}, true)
	require.NoError(t, err)
	b.SQL("UPDATE conductors SET heartbeat_at = clock_timestamp() - interval '1 minute' WHERE hostname = 'c1'")
	body = b.Get("/temper/v1/status").Is(200)
	require.Equal(t, true, partsOf(body)["conductors"]["ok"], "nothing is broken yet")
	require.Regexp(t, `^1 of 2 are alive, 1 late: c1 \(no heartbeat for 1m(\d+s)?; counts as dead after 10m\)$`, partsOf(body)["conductors"]["message"])
	require.InDelta(t, 1, conductorsLate(t, metrics), 0)

	b.Kill("c1")
	conductors := partsOf(b.Get("/temper/v1/status").Is(200))["conductors"]
	require.Equal(t, "1 of 2 are dead: c1", conductors["message"])
	require.Equal(t, "temper conductor --name c1 --enabled-drivers fake-hardware,redfish", conductors["help"].([]any)[0].(map[string]any)["command"])
	forget := conductors["help"].([]any)[1].(map[string]any)
	require.Equal(t, []any{"temper conductor forget c1", "DELETE", "/temper/v1/conductors/c1"}, []any{forget["command"], forget["method"], forget["path"]})
	b.Kill("c2")
	require.Contains(t, partsOf(b.Get("/temper/v1/status").Is(200))["conductors"]["message"], "2 of 2 are dead: c1, c2; no conductor is alive; no live conductor covers 2 nodes: ")
	b.WithConductors()

	b.SQL("UPDATE processes SET seen_at = seen_at - interval '50 minutes'")
	body = b.Get("/temper/v1/status").Is(200)
	require.Equal(t, []any{"orchestrators"}, body["broken"])
	require.Equal(t, "no orchestrator runs; the last one was o1", partsOf(body)["orchestrators"]["message"])
	require.Equal(t, "temper orchestrator", partsOf(body)["orchestrators"]["help"].([]any)[0].(map[string]any)["command"])
	require.Contains(t, b.Get("/temper/v1/nodes/n2/why").Is(200)["text"], "No orchestrator runs; the last one was o1 since ")
	_, err = b.Store.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleOrchestrator, Name: "o1"}, false)
	require.NoError(t, err)

	ahead := 7 * time.Second
	_, err = b.Store.SeeProcess(t.Context(), coverage.Process{Role: coverage.RoleConductor, Name: "c1", Ahead: &ahead, Error: time.Second}, true)
	require.NoError(t, err)
	require.Equal(t, "clocks differ from PostgreSQL's: that of conductor c1 is 7s ahead", partsOf(b.Get("/temper/v1/status").Is(200))["clocks"]["message"])
}

// What an orchestrator may not put right in Temporal is named with the command that does.
func TestTheStatusNamesWhatDiffersInTemporal(t *testing.T) {
	t.Parallel()
	setup := &status.Setup{}
	b := apitest.New(t, func(c *api.Config) {
		c.Setup = func(context.Context) *status.Setup { return setup }
	}).WithConductors()
	require.NoError(t, b.Store.Reconciled(t.Context()))
	require.Equal(t, true, b.Get("/temper/v1/status").Is(200)["ok"])
	setup = &status.Setup{
		Differences: []help.Difference{{Namespace: "temper", Object: help.TemporalNamespace, Field: "retention", Have: "24h0m0s", Want: "72h0m0s"}},
		Paused:      &help.Difference{Namespace: "own", Object: help.TemporalSchedule, Name: "reconcile", Field: help.PausedField}, PauseNote: "by ann",
	}
	body := b.Get("/temper/v1/status").Is(200)
	require.Equal(t, []any{"temporal"}, body["broken"])
	command := func(part string) any {
		return partsOf(body)[part]["help"].([]any)[0].(map[string]any)["command"]
	}
	require.Contains(t, partsOf(body)["temporal"]["message"], "namespace temper: retention is 24h0m0s, and 72h0m0s is wanted")
	require.Equal(t, "temporal operator namespace update --namespace temper --retention 72h0m0s", command("temporal"))
	require.Contains(t, partsOf(body)["reconciliation"]["message"], "its schedule is paused in Temporal (by ann)")
	require.Equal(t, "temporal schedule toggle --namespace own --schedule-id reconcile --unpause --reason WHY", command("reconciliation"))
}

// A webhook whose deliveries fail is named, and breaks nothing.
func TestTheStatusNamesWebhooksThatFail(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	require.NoError(t, b.Store.Reconciled(t.Context()))
	for _, name := range []string{"chat", "fine", "off"} {
		b.Post("/temper/v1/webhooks", wanted(map[string]any{"name": name})).Is(201)
	}
	require.Empty(t, b.Get("/temper/v1/status").Is(200)["webhooks"])
	b.SQL(`UPDATE webhooks SET failing_since = '2026-01-02 03:05:00Z', attempts = 7, last_error = 'the endpoint answered 500.', enabled = name = 'chat' WHERE name <> 'fine'`)
	b.SQL(`INSERT INTO webhook_dead_letters (webhook_id, seq, message_id, type, body, at, given_up_at, error)
		SELECT id, 4, 'event_4', 'operation.ended', '{}', '2026-01-01 03:04:00Z', '2026-01-02 03:04:00Z', 'no' FROM webhooks WHERE name = 'chat'`)
	body := b.Get("/temper/v1/status").Is(200)
	require.Equal(t, true, body["ok"], body)
	require.Len(t, body["webhooks"], 1, "one that is disabled does not fail")
	hook := body["webhooks"].([]any)[0].(map[string]any)
	require.Equal(t, "webhook chat: the newest delivery has failed 7 times (the endpoint answered 500), and 1 event was given up", hook["sentence"])
	require.Equal(t, "2026-01-02T03:04:00+00:00", hook["since"])
	var commands []any
	for _, h := range hook["help"].([]any) {
		commands = append(commands, h.(map[string]any)["command"])
	}
	require.Equal(t, []any{"temper webhook show chat", "temper webhook dead-letters chat", "temper webhook redeliver chat --all"}, commands)
}
