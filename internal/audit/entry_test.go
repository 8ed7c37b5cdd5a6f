package audit_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/access"
	"go.temper.dev/temper/internal/audit"
)

func TestARecordIsWrittenOnce(t *testing.T) {
	t.Parallel()
	ctx, r := audit.Begin(t.Context(), audit.Entry{Route: "DELETE /v1/nodes/:node"})
	audit.Of(ctx).By("ann", access.HTTPBasic)
	audit.Of(ctx).OnNode("u", "n1")
	e, ok := r.Take()
	require.True(t, ok)
	require.Equal(t, audit.Entry{Route: "DELETE /v1/nodes/:node", User: "ann", Method: access.HTTPBasic, NodeUUID: "u", NodeName: "n1"}, e)
	_, ok = r.Take()
	require.False(t, ok, "a transaction writes it already")
	r.GiveBack(true)
	_, ok = r.Take()
	require.True(t, ok)
	require.True(t, r.InDoubt())

	_, none := audit.Of(context.Background()).Take()
	require.False(t, none)
	audit.Of(context.Background()).OnNode("u", "n1") // no request: nothing happens
}

// A client may put anything into the names of fields.
func TestOnlyNamesAreKept(t *testing.T) {
	t.Parallel()
	_, r := audit.Begin(t.Context(), audit.Entry{})
	r.Names("name", "driver_info", "p@ss word", "name", "set-boot.device:a")
	e, _ := r.Take()
	require.Equal(t, []string{"driver_info", "name", "other", "set-boot.device:a"}, e.What)

	many := make([]string, 1000)
	for i := range many {
		many[i] = "f" + strconv.Itoa(i)
	}
	r.GiveBack(false)
	r.Names(many...)
	e, _ = r.Take()
	require.Len(t, e.What, 64)
}
