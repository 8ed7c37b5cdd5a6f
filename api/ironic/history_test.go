package ironic_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestTheHistoryNamesTheFieldsThatSomebodyChanged(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://old-value", "redfish_password": "old-secret"},
	}).Is(201)
	b.Patch("/v1/nodes/n1", apitest.Replace("/driver_info/redfish_address", "https://new-value"), apitest.Replace("/driver_info/redfish_password", "new-secret"),
		apitest.Add("/properties/cpus", 4), apitest.Add("/extra/a", 1), apitest.Remove("/description")).Is(200)
	events := b.Get("/v1/nodes/n1/history?detail=true").Is(200)["history"].([]any)
	last := events[len(events)-1].(map[string]any)
	require.Equal(t, "changed driver_info/redfish_address, driver_info/redfish_password, extra/a, properties/cpus", last["event"])
	require.Equal(t, "change", last["event_type"])
	require.Equal(t, "INFO", last["severity"])
	for _, value := range []string{"old-value", "new-value", "secret\""} {
		require.NotContains(t, string(b.Last.Body), value)
	}
	b.Patch("/v1/nodes/n1", apitest.Replace("/driver_info/redfish_password", "******"), apitest.Replace("/properties/cpus", 4)).Is(200)
	require.Len(t, b.Get("/v1/nodes/n1/history").Is(200)["history"], len(events), "nothing has changed")

	var many []apitest.Op
	for i := range 30 {
		many = append(many, apitest.Add("/extra/"+strings.Repeat("k", i+1), i))
	}
	b.Patch("/v1/nodes/n1", many...).Is(200)
	events = b.Get("/v1/nodes/n1/history?detail=true").Is(200)["history"].([]any)
	require.Contains(t, events[len(events)-1].(map[string]any)["event"], "and 10 more")
}

func TestHistory(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": strings.Repeat("long ", 100)}).Is(202)
	events := b.Get("/v1/nodes/n1/history").Is(200)["history"].([]any)
	require.Len(t, events, 2)
	short := events[0].(map[string]any)
	for _, e := range events {
		require.ElementsMatch(t, []string{"uuid", "created_at", "severity", "event", "links"}, slices.Collect(maps.Keys(e.(map[string]any))))
		require.LessOrEqual(t, len(e.(map[string]any)["event"].(string)), 255)
	}
	whole := b.Get("/v1/nodes/n1/history/" + short["uuid"].(string)).Is(200)
	long := events[1].(map[string]any)
	require.Equal(t, b.Get("/v1/nodes/n1/history/" + long["uuid"].(string)).Is(200)["event"].(string)[:251]+"...", long["event"], "Ironic keeps 251 characters")
	require.ElementsMatch(t, []string{"uuid", "created_at", "severity", "event", "event_type", "conductor", "user", "project", "provision_state", "target_provision_state", "duration", "links"}, slices.Collect(maps.Keys(whole)))
	require.NotContains(t, b.At(112, "GET", "/v1/nodes/n1/history/"+short["uuid"].(string), nil).Is(200), "project")
	require.Nil(t, whole["project"])
	require.Contains(t, b.Get("/v1/nodes/n1/history?detail=true&limit=1").Is(200), "next")
	b.Get("/v1/nodes/n1/history/" + uuid.NewString()).Fails(404)
	b.Get("/v1/nodes/n1/history/junk").Fails(404)
	b.Get("/v1/nodes/nosuch/history").Fails(404)
	b.Get("/v1/nodes/n1/history?marker=x").Fails(400)
}

// Ironic 1.115.
func TestTheHistoryHasTheStateOfTheNodeAndHowLongTheOneBeforeLasted(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.SQL(`UPDATE nodes SET provision_state = 'manageable', provision_updated_at = now() - interval '90 seconds'`)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "provide"}).Is(202)
	events := b.Get("/v1/nodes/n1/history?detail=true").Is(200)["history"].([]any)
	created, accepted := events[0].(map[string]any), events[len(events)-1].(map[string]any)
	require.Equal(t, "enroll", created["provision_state"])
	require.Nil(t, created["target_provision_state"])
	require.Nil(t, created["duration"])
	require.Equal(t, "accepted", accepted["event_type"])
	require.Equal(t, "cleaning", accepted["provision_state"])
	require.Equal(t, "available", accepted["target_provision_state"])
	require.InDelta(t, 90, accepted["duration"], 30)
	old := b.At(114, "GET", "/v1/nodes/n1/history?detail=true", nil).Is(200)["history"].([]any)[0].(map[string]any)
	for _, field := range []string{"provision_state", "target_provision_state", "duration"} {
		require.NotContains(t, old, field)
		require.NotContains(t, b.Get("/v1/nodes/n1/history").Is(200)["history"].([]any)[0], field, "only with detail")
	}
}
