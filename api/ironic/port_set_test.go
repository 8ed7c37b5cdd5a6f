package ironic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

func TestFieldsOfPortsAppearWithTheirVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	const address = "52:54:00:00:00:01"
	for field, c := range map[string]struct {
		first        int
		absent, sent any
	}{
		"description": {97, nil, "left"}, "vendor": {100, nil, "ACME"}, "category": {101, nil, "storage"}, "available_for_dynamic_portgroup": {111, true, false},
	} {
		body := map[string]any{"node_uuid": n1, "address": address, field: c.sent}
		b.At(c.first-1, "POST", "/v1/ports", body).Fails(406)
		made := b.At(c.first, "POST", "/v1/ports", body).Is(201)
		path := "/v1/ports/" + made["uuid"].(string)
		require.Equal(t, c.sent, made[field])
		require.Equal(t, c.sent, b.At(c.first, "GET", path, nil).Is(200)[field])
		require.NotContains(t, b.At(c.first-1, "GET", path, nil).Is(200), field)
		b.At(c.first-1, "GET", "/v1/ports?fields="+field, nil).Fails(406)
		b.At(c.first-1, "PATCH", path, []apitest.Op{apitest.Remove("/" + field)}).Fails(406)
		require.Equal(t, c.absent, b.At(c.first, "PATCH", path, []apitest.Op{apitest.Remove("/" + field)}).Is(200)[field])
		require.Equal(t, c.absent, b.Get(path).Is(200)[field])
		b.Delete(path).Is(204)
	}
	for field, limit := range map[string]int{"description": 255, "vendor": 32, "category": 80} {
		b.Post("/v1/ports", map[string]any{"node_uuid": n1, "address": address, field: strings.Repeat("x", limit+1)}).Fails(400)
	}
}

func TestPortsByDescriptionAndConductorGroup(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1, n2 := b.Enrolled("n1"), b.Enrolled("n2")
	b.SQL(`UPDATE nodes SET conductor_group = 'rack-1' WHERE uuid = $1`, n1)
	b.Post("/v1/ports", map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:01", "description": "Left NIC"}).Is(201)
	b.Post("/v1/ports", map[string]any{"node_uuid": n2, "address": "52:54:00:00:00:02", "description": "right"}).Is(201)
	for query, want := range map[string]int{
		"description_contains=nic": 1, "description_contains=t": 2, "description_contains=middle": 0,
		"conductor_groups=Rack-1": 1, "conductor_groups=rack-1,moon": 1, "conductor_groups=": 1, "conductor_groups=moon": 0,
		"conductor_groups=rack-1&description_contains=right": 0,
	} {
		require.Len(t, b.Get("/v1/ports?" + query).Is(200)["ports"], want, query)
	}
	b.At(96, "GET", "/v1/ports?description_contains=x", nil).Fails(406)
	b.At(97, "GET", "/v1/ports?description_contains=x", nil).Is(200)
	b.At(98, "GET", "/v1/ports?conductor_groups=x", nil).Fails(406)
	b.At(99, "GET", "/v1/ports?conductor_groups=x", nil).Is(200)
}

func TestPortsAtAVTEP(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	n1 := b.Enrolled("n1")
	link := map[string]any{"port_id": "p", "vtep-logical-switch": "l", "vtep-physical-switch": "s"}
	body := map[string]any{"node_uuid": n1, "address": "52:54:00:00:00:01", "local_link_connection": link}
	b.At(89, "POST", "/v1/ports", body).Fails(406)
	require.Contains(t, b.At(105, "POST", "/v1/ports", body).Fails(400), "API version 1.105 has removed it")
	made := b.At(104, "POST", "/v1/ports", body).Is(201)
	require.Equal(t, link, made["local_link_connection"])
	path := "/v1/ports/" + made["uuid"].(string)
	require.Equal(t, link, b.Patch(path, apitest.Replace("/pxe_enabled", false)).Is(200)["local_link_connection"], "it keeps what it has")
	b.Patch(path, apitest.Replace("/local_link_connection/port_id", "q")).Fails(400)
	b.At(90, "PATCH", path, []apitest.Op{apitest.Replace("/local_link_connection/port_id", "q")}).Is(200)
	b.At(90, "PATCH", path, []apitest.Op{apitest.Remove("/local_link_connection/vtep-logical-switch")}).Fails(400)
	require.Equal(t, map[string]any{}, b.Patch(path, apitest.Remove("/local_link_connection")).Is(200)["local_link_connection"])
}
