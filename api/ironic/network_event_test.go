package ironic_test

import (
	"maps"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestNetworkEvents(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	right := map[string]any{"event": "network.bind_port", "port_id": uuid.NewString(), "mac_address": "52:54:00:00:00:01", "status": "ACTIVE"}
	send := func(events ...any) *apitest.Answer { return b.Post("/v1/events", map[string]any{"events": events}) }
	with := func(field string, v any) map[string]any {
		e := maps.Clone(right)
		if e[field] = v; v == "absent" {
			delete(e, field)
		}
		return e
	}
	send(right).Is(204)
	send(right, with("device_id", nil), with("binding:host_id", uuid.NewString()), with("binding:vnic_type", "baremetal"), with("event", "network.delete_port")).Is(204)
	for words, a := range map[string]*apitest.Answer{
		"events: [] is too short":                                             b.Post("/v1/events", map[string]any{"events": []any{}}),
		"'events' is a required property":                                     b.Post("/v1/events", map[string]any{}),
		"Additional properties are not allowed ('more' was unexpected)":       b.Post("/v1/events", map[string]any{"events": []any{right}, "more": 1}),
		"is not of type 'array'":                                              b.Post("/v1/events", map[string]any{"events": right}),
		"is not of type 'object'":                                             send("bind"),
		"is not one of ['network.bind_port', 'network.unbind_port', 'network": send(right, with("event", "network.other")),
		"'status' is a required property":                                     send(with("status", "absent")),
		"status: 1 is not of type 'string'":                                   send(with("status", 1)),
		"Additional properties are not allowed ('colour' was unexpected)":     send(with("colour", "red")),
		"Expected UUID for port_id: p1":                                       send(with("port_id", "p1")),
		"Expected UUID for binding:host_id: h1":                               send(with("binding:host_id", "h1")),
		"Expected valid MAC address for mac_address: 52:54":                   send(with("mac_address", "52:54")),
		"mac_address: null is not of type 'string'":                           send(with("mac_address", nil)),
	} {
		require.Contains(t, a.Fails(400), words)
	}
	b.At(53, "POST", "/v1/events", map[string]any{"events": []any{right}}).Fails(404)
	b.At(54, "POST", "/v1/events", map[string]any{"events": []any{right}}).Is(204)
	b.Get("/v1/events").Fails(405)
}
