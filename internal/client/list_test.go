package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
)

// paged is an API with so many nodes that gives at most 10 a page, with the next link that next makes of a marker.
func paged(t *testing.T, nodes int, next func(marker string) string) (*client.Client, *[]url.Values) {
	t.Helper()
	var asked []url.Values
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q)
		from, limit := 0, 10
		if m := q.Get("marker"); m != "" {
			from, _ = strconv.Atoi(m)
		}
		if l, err := strconv.Atoi(q.Get("limit")); err == nil {
			limit = min(limit, l)
		}
		var page []map[string]string
		for i := from; i < min(from+limit, nodes); i++ {
			page = append(page, map[string]string{"uuid": fmt.Sprint(i)})
		}
		body := map[string]any{"nodes": page}
		if len(page) == limit {
			body["next"] = next(strconv.Itoa(from + limit))
		}
		_ = json.NewEncoder(w).Encode(body)
	})
	return c, &asked
}

func elsewhere(marker string) string {
	return "http://not-reachable.example/v1/nodes?limit=10&marker=" + marker
}

func TestListsFollowTheirNextLinks(t *testing.T) {
	c, asked := paged(t, 25, elsewhere)
	list, err := c.Nodes(t.Context(), url.Values{"fields": {"uuid"}, "driver": {"redfish"}}, 0)
	require.NoError(t, err)
	require.Len(t, list.Items, 25)
	require.False(t, list.More)
	for i, n := range list.Items {
		require.Equal(t, fmt.Sprint(i), n.UUID)
	}
	require.Len(t, *asked, 3)
	for _, q := range *asked {
		require.Equal(t, "redfish", q.Get("driver"), "a page lost the filter")
	}
}

func TestListsEndAtTheirLimit(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, limit, want int
		more               bool
	}{
		"in the middle of a page": {25, 15, 15, true},
		"at the end of a page":    {25, 20, 20, true},
		"exactly all":             {20, 20, 20, false},
		"more than there are":     {25, 100, 25, false},
		"none there":              {0, 5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			cl, _ := paged(t, c.nodes, elsewhere)
			list, err := cl.Nodes(t.Context(), nil, c.limit)
			require.NoError(t, err)
			require.Len(t, list.Items, c.want)
			require.Equal(t, c.more, list.More)
		})
	}
}

func TestAListThatLeadsNowhereEnds(t *testing.T) {
	for name, next := range map[string]func(string) string{
		"the same page for ever": func(string) string { return "http://api/v1/nodes?marker=3" },
		"no marker":              func(string) string { return "http://api/v1/nodes" },
		"no link at all":         func(string) string { return "%zz" },
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := paged(t, 1000, next)
			_, err := c.Nodes(t.Context(), nil, 500)
			require.NoError(t, err)
			require.LessOrEqual(t, len(*asked), 2)
		})
	}
}

func TestAListOfSomethingElseIsAnError(t *testing.T) {
	for _, body := range []string{`{}`, `{"nodes":{}}`, `{"nodes":[],"next":1}`, `{"nodes":"x"}`} {
		c := serve(t, always(200, []byte(body)))
		_, err := c.Nodes(t.Context(), nil, 0)
		require.ErrorContains(t, err, "has no list of nodes", body)
	}
}

func TestGoldenLists(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := map[string]string{
			"/v1/nodes": "nodes", "/v1/ports": "ports", "/v1/conductors": "conductors", "/v1/drivers": "drivers",
			"/temper/v1/operations": "operations", "/v1/nodes/n1/history": "history",
		}[r.URL.Path]
		_, _ = w.Write(golden(t, name))
	})
	ctx := t.Context()
	nodes, err := c.Nodes(ctx, nil, 2)
	require.NoError(t, err)
	require.Len(t, nodes.Items, 2)
	require.True(t, nodes.More)
	ports, err := c.Ports(ctx, nil, 2)
	require.NoError(t, err)
	require.Len(t, ports.Items, 2)
	require.NotEmpty(t, ports.Items[0].NodeUUID)
	conductors, err := c.Conductors(ctx, 0)
	require.NoError(t, err)
	require.Len(t, conductors.Items, 2)
	require.True(t, conductors.Items[0].Alive)
	require.NotNil(t, conductors.Items[0].UpdatedAt)
	drivers, err := c.Drivers(ctx)
	require.NoError(t, err)
	require.Equal(t, "fake-hardware", drivers[0].Name)
	ops, err := c.Operations(ctx, client.OperationFilter{Node: "n1"}, 4)
	require.NoError(t, err)
	require.Len(t, ops.Items, 4)
	history, err := c.History(ctx, "n1", 0)
	require.NoError(t, err)
	require.NotEmpty(t, history.Items[0].Event)
}
