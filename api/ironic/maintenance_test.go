package ironic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

func TestMaintenanceNeverConflicts(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	for _, s := range []node.State{node.Deploying, node.CleanWait, node.Active, node.Enroll} {
		name := strings.ReplaceAll(string(s), " ", "-")
		b.In(name, s)
		b.Put("/v1/nodes/"+name+"/maintenance", map[string]any{"reason": "disk swap"}).Is(202)
		body := b.Get("/v1/nodes/" + name).Is(200)
		require.Equal(t, true, body["maintenance"])
		require.Equal(t, "disk swap", body["maintenance_reason"])
		b.SQL(`UPDATE nodes SET fault = 'clean failure' WHERE name = $1`, name)
		b.Delete("/v1/nodes/" + name + "/maintenance").Is(202)
		body = b.Get("/v1/nodes/" + name).Is(200)
		require.Equal(t, []any{false, nil, nil}, []any{body["maintenance"], body["maintenance_reason"], body["fault"]})
	}
	b.Put("/v1/nodes/nosuch/maintenance", nil).Fails(404)
	b.Put("/v1/nodes/active/maintenance", map[string]any{"reason": 3}).Fails(400)
	b.Put("/v1/nodes/active/maintenance", map[string]any{"why": "x"}).Fails(400)
}
