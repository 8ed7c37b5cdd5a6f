package ironic_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
)

func TestListNodes(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.MaxLimit = 4 }).WithConductors()
	for i := range 10 {
		b.Post("/v1/nodes", map[string]any{
			"driver": "fake-hardware", "name": fmt.Sprintf("n%d", i), "owner": []string{"alice", "bob"}[i%2],
			"resource_class": "gold", "shard": []string{"s1", "s2"}[i%2], "description": fmt.Sprintf("Rack %d", i/5),
		}).Is(201)
	}
	names := func(first string) (out []string) {
		for path := first; path != ""; {
			body := b.Get(path).Is(200)
			for _, n := range body["nodes"].([]any) {
				out = append(out, n.(map[string]any)["name"].(string))
			}
			path, _ = body["next"].(string)
			path = strings.TrimPrefix(path, "http://temper.test:6385")
		}
		return out
	}
	for query, want := range map[string]string{
		"":                                "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?limit=3":                        "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?limit=1000":                     "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?sort_key=name&sort_dir=desc":    "n9 n8 n7 n6 n5 n4 n3 n2 n1 n0",
		"?owner=bob&limit=2":              "n1 n3 n5 n7 n9",
		"?owner=bob&fields=name,owner":    "n1 n3 n5 n7 n9",
		"?shard=s2,s3":                    "n1 n3 n5 n7 n9",
		"?description_contains=rack%201":  "n5 n6 n7 n8 n9",
		"?provision_state=active":         "",
		"?provision_state=enroll&limit=9": "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9",
		"?project=alice&detail=true":      "n0 n2 n4 n6 n8",
		"/detail?owner=alice&limit=1":     "n0 n2 n4 n6 n8",
	} {
		require.Equal(t, want, strings.Join(names("/v1/nodes"+query), " "), query)
	}
	// Filters that are computed are applied before the page is cut.
	all := append(names("/v1/nodes?conductor=c1&limit=1"), names("/v1/nodes?conductor=c2")...)
	require.Len(t, all, 10)

	one := b.Get("/v1/nodes?limit=1").Is(200)
	first := one["nodes"].([]any)[0].(map[string]any)
	require.ElementsMatch(t, []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state", "links"}, slices.Collect(maps.Keys(first)))
	require.Equal(t, "http://temper.test:6385/v1/nodes?limit=1&marker="+first["uuid"].(string), one["next"])
	fields := b.Get("/v1/nodes/n1?fields=uuid,traits,conductor").Is(200)
	require.ElementsMatch(t, []string{"uuid", "traits", "conductor", "links"}, slices.Collect(maps.Keys(fields)))

	for query, words := range map[string]string{
		"limit=0":                            "Limit must be positive",
		"limit=-1":                           "Limit must be positive",
		"limit=x":                            "Expected an integer for limit: x",
		"marker=x":                           "Expected UUID for marker: x",
		"sort_key=driver_info":               "The sort_key value driver_info is an invalid field for sorting",
		"sort_key=nonsense":                  "The sort_key value nonsense is an invalid field for sorting",
		"sort_dir=up":                        "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
		"fields=uuid,colour":                 `Field(s) "colour" are not valid`,
		"fields=uuid&detail=true":            "Can not specify ?detail=True and fields in the same request.",
		"colour=red":                         "Unexpected arguments: colour",
		"provision_state=dancing":            `Provision state "dancing" is not valid`,
		"maintenance=perhaps":                "",
		"fault=toothache":                    "",
		"instance_uuid=x":                    "Expected UUID for instance_uuid: x",
		"marker=" + uuid.NewString():         "",
		"owner=" + strings.Repeat("a", 9000): "The value of owner is longer than 8192 bytes",
	} {
		a := b.Get("/v1/nodes?" + query)
		require.Contains(t, []int{400, 404}, a.Status, query)
		got := a.Fails(a.Status)
		if words != "" {
			require.Equal(t, words, got, query)
		}
	}
}

func TestEveryFilterStaysInTheNextLink(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	instance := uuid.NewString()
	for i := range 2 {
		b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "owner": "a", "lessee": "l", "shard": "s", "resource_class": "r", "instance_name": "vm", "description": fmt.Sprint("d", i)}).Is(201)
	}
	b.SQL(`UPDATE nodes SET maintenance = true, retired = true, fault = 'power failure'`)
	_ = instance
	filters := url.Values{
		"associated": {"false"}, "maintenance": {"true"}, "retired": {"true"}, "provision_state": {"enroll"}, "driver": {"fake-hardware"},
		"resource_class": {"r"}, "fault": {"power failure"}, "conductor_group": {""}, "owner": {"a"}, "lessee": {"l"}, "shard": {"s"},
		"sharded": {"true"}, "instance_name": {"vm"}, "description_contains": {"d"}, "include_children": {"true"}, "fields": {"uuid"}, "sort_key": {"created_at"}, "sort_dir": {"desc"},
	}
	filters.Set("limit", "1")
	next, err := url.Parse(b.Get("/v1/nodes?" + filters.Encode()).Is(200)["next"].(string))
	require.NoError(t, err)
	for name, v := range filters {
		require.Equal(t, v, next.Query()[name], name)
	}
	require.Len(t, b.Get(next.RequestURI()).Is(200)["nodes"], 1)
}

func TestFieldsAndFiltersThatAreTooNew(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	uuid := b.Enrolled("n1")
	for query, first := range map[string]int{
		"fields=uuid": 8, "fields=owner": 50, "sort_key=owner": 50, "provision_state=enroll": 9, "driver=x": 16, "resource_class=x": 21,
		"fault=power%20failure": 42, "conductor_group=x": 46, "conductor=c1": 49, "owner=x": 50,
		"lessee=x": 65, "shard=x": 82, "sharded=true": 82, "include_children=true": 83, "instance_name=x": 104, "fields=instance_name": 104, "fields=health": 109, "sort_key=health": 109, "health=OK": 109,
		"parent_node=" + uuid: 83,
	} {
		b.At(first-1, "GET", "/v1/nodes?"+query, nil).Fails(406)
		b.At(first, "GET", "/v1/nodes?"+query, nil).Is(200)
	}
	for _, query := range []string{"retired=true", "description_contains=x", "project=x"} { // Ironic looks at no version for these
		require.Empty(t, b.At(1, "GET", "/v1/nodes?"+query, nil).Is(200)["nodes"], query)
	}
	b.At(42, "GET", "/v1/nodes?detail=true", nil).Fails(400)
	b.At(43, "GET", "/v1/nodes?detail=true", nil).Is(200)
	for field, first := range map[string]int{"name": 5, "resource_class": 21, "owner": 50, "description": 51, "lessee": 65, "shard": 82, "instance_name": 104} {
		body := map[string]any{"driver": "fake-hardware", field: "x1"}
		b.At(first-1, "POST", "/v1/nodes", body).Fails(406)
		b.At(first, "POST", "/v1/nodes", body).Is(201)
		b.At(first-1, "PATCH", "/v1/nodes/"+uuid, []apitest.Op{apitest.Replace("/"+field, "x2")}).Fails(406)
	}
}
