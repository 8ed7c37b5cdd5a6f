package temper_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/node"
)

const auditPath = "/temper/v1/audit"

// loggedIn is an API on which ann logs in.
func loggedIn(t *testing.T) *apitest.Bench {
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "htpasswd")
	require.NoError(t, os.WriteFile(file, []byte("ann:"+string(hash)+"\n"), 0o600))
	b := apitest.New(t, func(c *api.Config) { c.Auth = api.Auth{Strategy: api.HTTPBasic, File: file} }).WithConductors()
	b.User = "ann:secret"
	return b
}

func rowsOf(b *apitest.Bench, query string) (out []map[string]any) {
	for _, row := range b.Get(auditPath + query).Is(200)["audit"].([]any) {
		out = append(out, row.(map[string]any))
	}
	return out
}

func TestTheAuditSaysWhoAskedForWhat(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	uuid := b.In("n1", node.Manageable)
	b.Patch("/v1/nodes/n1", apitest.Add("/driver_info/ipmi_password", "hunter2"), apitest.Add("/extra/a", "hunter2")).Is(200)
	b.Put("/v1/nodes/n1/maintenance", map[string]any{"reason": "a fan"}).Is(202)
	b.Patch("/v1/nodes/nobody", apitest.Add("/extra/a", 1)).Fails(404)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "provide"}).Is(202)
	request := b.Last.Header.Get("OpenStack-Request-Id")
	operation := b.Last.Header.Get("Temper-Operation")

	rows := rowsOf(b, "?limit=1")
	require.Len(t, rows, 1)
	delete(rows[0], "id")
	require.NotEmpty(t, rows[0]["at"])
	delete(rows[0], "at")
	require.Equal(t, map[string]any{
		"user": "ann", "method": "http_basic", "from": "192.0.2.1", "request_id": request, "rule": "baremetal:node:set_provision_state", "route": "PUT /v1/nodes/:node/states/provision",
		"node_uuid": uuid, "node_name": "n1", "kind": nil, "target": nil, "operation": operation, "what": []any{"provide"}, "reason": nil, "outcome": "accepted", "status": nil, "count": 1.0,
	}, rows[0])
	unknown := rowsOf(b, "?node=nobody")[0]
	require.Equal(t, []any{nil, "nobody", "refused", 404.0}, []any{unknown["node_uuid"], unknown["node_name"], unknown["outcome"], unknown["status"]})
	patch := rowsOf(b, "?node="+uuid+"&rule=baremetal:node:update")[0]
	require.Equal(t, []any{"driver_info", "extra"}, patch["what"])
	require.Equal(t, "a fan", rowsOf(b, "?node=n1&rule=baremetal:node:set_maintenance")[0]["reason"])
	for _, row := range b.Get(auditPath).Is(200)["audit"].([]any) {
		for _, v := range row.(map[string]any) {
			text, _ := v.(string)
			require.NotContains(t, text, "hunter2", "values are nobody's business")
		}
	}

	b.SQL(`UPDATE operations SET ended_at = now(), phase = 'ended', state = 'ended', outcome = 'succeeded'`)
	b.SQL(`UPDATE nodes SET provision_state = 'enroll', target_provision_state = ''`)
	b.Delete("/v1/nodes/n1").Is(204)
	require.Equal(t, "DELETE /v1/nodes/:node", rowsOf(b, "?node="+uuid)[0]["route"], "it outlives the node")
	require.NotEmpty(t, rowsOf(b, "?actor=ann&outcome=accepted&since=2020-01-01T00:00:00Z"))
	require.Empty(t, rowsOf(b, "?until=2020-01-01T00:00:00Z"))
	require.Empty(t, rowsOf(b, "?actor=bob"))

	var ids []any
	for path := auditPath + "?limit=3"; path != ""; {
		body := b.Get(path).Is(200)
		for _, row := range body["audit"].([]any) {
			ids = append(ids, row.(map[string]any)["id"])
		}
		next, _ := body["next"].(string)
		path = strings.TrimPrefix(next, "http://temper.test:6385")
	}
	require.Len(t, ids, len(rowsOf(b, "")))
	for _, bad := range []string{"?outcome=maybe", "?since=yesterday", "?marker=x", "?user=ann", "?node=a%20b"} {
		b.Get(auditPath + bad).Fails(400)
	}
}

// Whoever does not get in has no row of his own, so that he can't fill the table.
func TestRefusedLogInsAreCounted(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	b.User = "ann:wrong"
	for range 3 {
		b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware"})
		require.Contains(t, []int{http.StatusUnauthorized, http.StatusTooManyRequests}, b.Last.Status)
		require.Empty(t, b.Audited(b.Last))
	}
	b.Get("/v1/nodes")
	require.Eventually(t, func() bool { return b.Text(`SELECT coalesce(sum(count), 0)::text FROM audit_logins`) == "4" }, time.Minute, 10*time.Millisecond)
	b.SQL(`UPDATE audit_logins SET minute = minute - interval '5 minutes'`)
	_, err := b.Store.KeepAudit(t.Context(), time.Hour, 1000)
	require.NoError(t, err)
	b.User = "ann:secret"
	var counts float64
	rows, err := b.Store.AuditEntries(t.Context(), audit.Filter{Rule: audit.LogIn})
	require.NoError(t, err)
	for _, row := range rows {
		require.Equal(t, "192.0.2.1", row.From)
		counts += float64(row.Count)
	}
	require.InDelta(t, 4, counts, 0)
}

// The heartbeats of a compute service say nothing new.
func TestHeartbeatsOfComputeServicesHaveNoRows(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	beat := func() int {
		b.Put("/temper/v1/compute-services/s1", map[string]any{"incarnation": 1}).Is(200)
		return len(b.Audited(b.Last))
	}
	require.Equal(t, 1, beat(), "it was registered")
	require.Zero(t, beat())
	b.Put("/temper/v1/compute-services/s1", map[string]any{"incarnation": 1, "stopping": true}).Is(204)
	require.Len(t, b.Audited(b.Last), 1)
}
