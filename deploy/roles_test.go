package deploy_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// as returns the URL of a database for another user, whose password is "of USER".
func as(t *testing.T, at, user string) string {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	u.User = url.UserPassword(user, "of "+user)
	return u.String()
}

// Each service logs in to PostgreSQL as a user of its own, and only the listed ones have the keys of secrets.
func TestEveryServiceLogsInAsItselfAndFewHaveTheKeys(t *testing.T) {
	for name, s := range ofTemper(t) {
		role := s.Command[0]
		u, err := url.Parse(*s.Environment["TEMPER_DATABASE_URL"])
		require.NoError(t, err)
		require.Equal(t, "temper_"+role, u.User.Username(), name)
		require.Equal(t, "secret of "+role, *s.Environment["PGPASSWORD"], name)
		keys := slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == "keyset" })
		require.Equal(t, role == "api" || role == "conductor", keys, "%s and the keyset", name)
		require.Equal(t, keys, s.Environment["TEMPER_KEYSET_FILE"] != nil, name)
	}
}

func refused(t *testing.T, at, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), at)
	require.NoError(t, err)
	defer func() { _ = c.Close(t.Context()) }()
	_, err = c.Exec(t.Context(), sql)
	require.ErrorContains(t, err, "SQLSTATE 42501", "%s", sql)
}

// The script takes over a database that a superuser has made, as compose did before, twice.
func TestRolesOfTheDatabaseCanDoWhatTheyNeedAndNoMore(t *testing.T) {
	at := testenv.Postgres(t)
	bins, err := pgserver.Find()
	require.NoError(t, err)
	for range 2 {
		psql := exec.CommandContext(t.Context(), filepath.Join(bins.Dir, "psql"), at, "-f", "compose/database-roles.sql")
		psql.Env = os.Environ()
		for _, role := range []string{"migrate", "api", "orchestrator", "conductor"} {
			psql.Env = append(psql.Env, "TEMPER_"+strings.ToUpper(role)+"_POSTGRES_PASSWORD=of temper_"+role)
		}
		out, err := psql.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, store.Migrate(t.Context(), as(t, at, "temper_migrate")))
	owner, err := pgx.Connect(t.Context(), as(t, at, "temper_migrate"))
	require.NoError(t, err)
	defer func() { _ = owner.Close(t.Context()) }()
	_, err = owner.Exec(t.Context(), `CREATE TABLE made_later (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int)`)
	require.NoError(t, err, "a migration changes tables")
	refused(t, as(t, at, "temper_migrate"), "CREATE ROLE other")

	keys, err := store.NewKeyset()
	require.NoError(t, err)
	for _, user := range []string{"temper_api", "temper_orchestrator", "temper_conductor"} {
		for _, sql := range []string{
			"CREATE TABLE other (x int)", "DROP TABLE nodes", "TRUNCATE nodes", "ALTER TABLE nodes ADD COLUMN x int", "CREATE ROLE other",
			"SELECT pg_read_file('/etc/passwd')", "COPY nodes TO PROGRAM 'true'", "ALTER TABLE nodes DISABLE TRIGGER ALL",
		} {
			refused(t, as(t, at, user), sql)
		}
		s, err := store.Open(t.Context(), store.Config{URL: as(t, at, user), Keyset: keys})
		require.NoError(t, err)
		require.NoError(t, s.Ready(t.Context()))
		n := &node.Node{Name: "n-" + user[7:], Driver: "fake-hardware", DriverInfo: map[string]any{"a": "b"}, ProvisionState: node.Available}
		require.NoError(t, s.CreateNode(t.Context(), n, nil, user))
		_, err = s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
			return &node.Request{Move: []node.Event{node.EventDeploy}, Open: &node.Operation{
				Kind: node.KindDeploy, Target: node.Active, Steps: []node.Step{{Interface: "deploy", Step: "deploy", State: node.StepPending}},
			}}, nil
		})
		require.NoError(t, err)
		_, err = s.RegisterConductor(t.Context(), coverage.Conductor{Hostname: user})
		require.NoError(t, err)
		_, err = s.Quarantine(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.DeleteNode(t.Context(), n.UUID, user, func(*node.Node) error { return nil }))
		_, err = s.ForgetDeleted(t.Context(), 0)
		require.NoError(t, err)
		auditAs(t, s, as(t, at, user), user)
		s.Close()
		c, err := pgx.Connect(t.Context(), as(t, at, user))
		require.NoError(t, err)
		_, err = c.Exec(t.Context(), "INSERT INTO made_later (x) VALUES (1)")
		require.NoError(t, err, "tables of later migrations are granted, too")
		require.NoError(t, c.Close(t.Context()))
	}
}

// auditAs checks that a role may add to the audit and read it, and that only the orchestrator's may drop what is old.
func auditAs(t *testing.T, s *store.Store, at, user string) {
	t.Helper()
	require.NoError(t, s.Audit(t.Context(), audit.Entry{User: user, Outcome: audit.Accepted}, false))
	require.NoError(t, s.FoldLogIns(t.Context(), []audit.LogIns{{From: user, Minute: time.Now().Truncate(time.Minute), Count: 1}}))
	for _, sql := range []string{"UPDATE audit SET username = 'x'", "DELETE FROM audit", "TRUNCATE audit", "DELETE FROM audit_newest", "TRUNCATE audit_newest", "DROP TABLE audit_newest"} {
		refused(t, at, sql)
	}
	_, err := s.KeepAudit(t.Context(), time.Hour, 0)
	if user != "temper_orchestrator" {
		require.ErrorContains(t, err, "permission denied for function audit_rotate")
		rows, err := s.AuditEntries(t.Context(), audit.Filter{User: user})
		require.NoError(t, err)
		require.Len(t, rows, 1)
		refused(t, at, "UPDATE audit_sinks SET sent_through = 0")
		return
	}
	require.NoError(t, err, "it ends a partition and drops it")
	refused(t, at, "DELETE FROM audit_newest") // the partition that it has made
	require.NoError(t, s.Audit(t.Context(), audit.Entry{User: user, Outcome: audit.Accepted}, false))
}

// The role of Temporal's server and tools owns their two databases and is no superuser,
// also where a superuser had made the tables.
func TestTemporalIsNoSuperuserOfItsDatabases(t *testing.T) {
	for name, s := range project(t).Services {
		for _, key := range []string{"SQL_USER", "POSTGRES_USER"} {
			if user := s.Environment[key]; user != nil && strings.HasPrefix(s.Image, "temporalio/") {
				require.Equal(t, "temporal_server", *user, name)
			}
		}
	}
	at := testenv.Postgres(t)
	admin, err := pgx.Connect(t.Context(), at)
	require.NoError(t, err)
	defer func() { _ = admin.Close(t.Context()) }()
	_, err = admin.Exec(t.Context(), "CREATE DATABASE temporal")
	require.NoError(t, err)
	u, err := url.Parse(at)
	require.NoError(t, err)
	u.Path = "/temporal"
	before, err := pgx.Connect(t.Context(), u.String())
	require.NoError(t, err)
	_, err = before.Exec(t.Context(), "CREATE TABLE executions (x int)")
	require.NoError(t, err)
	require.NoError(t, before.Close(t.Context()))

	bins, err := pgserver.Find()
	require.NoError(t, err)
	for range 2 {
		psql := exec.CommandContext(t.Context(), filepath.Join(bins.Dir, "psql"), at, "-f", "compose/temporal-database-role.sql")
		psql.Env = append(os.Environ(), "TEMPORAL_SERVER_POSTGRES_PASSWORD=of temporal_server")
		out, err := psql.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for _, database := range []string{"temporal", "temporal_visibility"} {
		u.Path = "/" + database
		own := as(t, u.String(), "temporal_server")
		c, err := pgx.Connect(t.Context(), own)
		require.NoError(t, err)
		// What the schema of its visibility needs (temporal, schema/postgresql/v12/visibility).
		for _, sql := range []string{"CREATE EXTENSION IF NOT EXISTS btree_gin", "CREATE TABLE made_later (x int)"} {
			_, err = c.Exec(t.Context(), sql)
			require.NoError(t, err, "%s in %s", sql, database)
		}
		if database == "temporal" {
			_, err = c.Exec(t.Context(), "ALTER TABLE executions ADD COLUMN y int")
			require.NoError(t, err, "a table of before")
		}
		require.NoError(t, c.Close(t.Context()))
		for _, sql := range []string{"CREATE ROLE other", "CREATE DATABASE other", "SELECT pg_read_file('/etc/passwd')", "COPY made_later TO PROGRAM 'true'"} {
			refused(t, own, sql)
		}
	}
}
