package system_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
)

// dump backs the database up, and returns what restores it.
func (s *stack) dump(t *testing.T) (restore func()) {
	t.Helper()
	bins, err := pgserver.Find()
	require.NoError(t, err)
	file := filepath.Join(s.Dir, "backup")
	run := func(program string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), filepath.Join(bins.Dir, program), args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	run("pg_dump", "--format=custom", "--file="+file, s.DatabaseURL)
	return func() {
		t.Helper()
		run("pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname="+s.DatabaseURL, file)
		out, err := s.Command(t.Context(), "migrate", "--database-url", s.DatabaseURL, "--restored").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// PostgreSQL is restored from a backup while Temporal knows all that happened since: workflows that have ended, one that still
// runs, and the numbers of operations, which are given again. Nothing is stuck, and no workflow of before touches a server.
func TestADatabaseIsRestoredUnderARunningTemporal(t *testing.T) {
	t.Parallel()
	s := own(t, 6)
	middle, again, left := available(t, s, s.rack), available(t, s, s.rack), available(t, s, s.rack)
	middle.spoil(fault{Kind: "slow_power", Delay: "3s", Count: 1})
	interrupted := middle.provision("active", nil)
	catches(t, patience, func() error {
		if o, err := middle.operation(interrupted); err != nil || o.State != "running" {
			return fmt.Errorf("%s: %w", o, err)
		}
		return nil
	})
	aborted := available(t, s, s.rack) // it has an instance again when the database is restored
	aborted.spoil(fault{Kind: "no_agent"})
	rewound := aborted.provision("active", nil)
	aborted.await("wait call-back")
	restore := s.dump(t)
	aborted.cancel(rewound)
	aborted.cancelled(rewound, "deploy failed")
	aborted.spoil()
	aborted.done(aborted.provision("active", nil), "active")
	middle.done(interrupted, "active")
	number := again.provision("active", nil)
	again.done(number, "active")
	left.spoil(fault{Kind: "no_agent"})
	open := left.provision("active", nil)
	left.await("wait call-back")

	for _, role := range []string{"conductor", "orchestrator", "api"} {
		s.killAll(t, role)
	}
	restore()
	left.spoil()
	before := again.hardware()
	for _, name := range []string{"restored-1", "restored-2"} {
		s.role(t, "conductor", name, nil, "--name", name, "--enabled-drivers", "redfish")
	}
	s.role(t, "orchestrator", "restored-orchestrator", nil)
	s.role(t, "api", "restored-api", nil, "--listen", strings.TrimPrefix(s.APIURL, "http://")) // where agents call
	s.awaitReady(t)

	middle.done(interrupted, "active") // as it ended before
	require.True(t, middle.hardware().Powered, "the instance was not touched")
	off := len(aborted.hardware().Actions)
	require.Equal(t, "failed", text(aborted.over(rewound).Outcome))
	db := s.database(t)
	for id, n := range map[string]*node{number: again, open: left} {
		_, err := db.Exec(t.Context(), `SELECT setval('operations_id_seq', $1::text::bigint - 1)`, id) // a request that was refused took one, too
		require.NoError(t, err)
		require.Equal(t, id, n.provision("active", nil), "the number is given again, to the same kind of operation on the same node")
	}
	again.done(number, "active")
	left.done(open, "active")
	require.Equal(t, before.AgentBoots+1, again.hardware().AgentBoots, "one deploy, one agent")
	ticks(t, db, 2) // reconciliations would begin an undo now
	now := aborted.now()
	require.True(t, now.Maintenance)
	require.Contains(t, text(now.MaintenanceReason), "restored from a backup")
	require.Len(t, aborted.hardware().Actions, off, "its server has an instance that the database does not know")

	var page struct {
		Operations []struct {
			ID string `json:"id"`
		} `json:"operations"`
	}
	require.NoError(t, s.must(t, http.StatusOK, http.MethodGet, "/temper/v1/operations?state=running", nil).Decode(&page))
	require.Empty(t, page.Operations)
}
