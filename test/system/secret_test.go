package system_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"go.temper.dev/temper/internal/sim"
)

// eavesdropper keeps the token that an agent shows.
type eavesdropper struct {
	mu    sync.Mutex
	token string
}

func (e *eavesdropper) between(_ *http.Request, send func() *answer) *answer {
	a := send()
	var l struct {
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	if a != nil && json.Unmarshal(a.body, &l) == nil && len(l.Config.Token) >= 32 {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.token = l.Config.Token
	}
	return a
}

func (e *eavesdropper) heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.token
}

// Passwords, tokens and config drives are sealed in the database and masked everywhere else: in a deploy that succeeds and
// in operations that fail over them.
func TestNoSecretIsToldAnywhere(t *testing.T) {
	t.Parallel()
	s := world(t)
	var ear eavesdropper
	n := available(t, s, ownRack(t, newProxy(t, s.at.APIURL, ear.between), sim.Config{Servers: 1}))
	right := n.hardware().Password
	secrets := map[string]string{
		"the password of the BMC":      right,
		"a wrong password":             "not-the-password-of-anything",
		"what is in the config drive":  "the-secret-of-the-instance",
		"the secret of an image store": "reader:secret-of-the-image-store",
	}
	n.patch("instance_info/image_request_authorization_secret", secrets["the secret of an image store"])
	ids := []string{n.provision("active", map[string]any{"configdrive": map[string]any{"user_data": secrets["what is in the config drive"]}})}
	n.deployed(ids[0], digest(t, n.r))
	secrets["the token of the agent"] = ear.heard()
	n.patch("driver_info/redfish_password", secrets["a wrong password"])
	ids = append(ids, n.power("power off"))
	n.failed(ids[1], "active", "401")

	told := map[string]string{}
	for _, path := range []string{
		"/v1/nodes/" + n.uuid, "/v1/nodes/" + n.uuid + "/states", "/v1/nodes/" + n.uuid + "/history?detail=true", "/v1/nodes?detail=true",
		"/v1/nodes/" + n.uuid + "/validate", "/temper/v1/operations?node=" + n.uuid,
	} {
		told[path] = string(s.must(t, http.StatusOK, http.MethodGet, path, nil).body)
	}
	for _, id := range ids {
		o, err := n.operation(id)
		require.NoError(t, err)
		told["Temporal's history of "+o.WorkflowID] = s.history(t, o.WorkflowID)
	}
	s.logs(t, told)
	s.tables(t, told)
	for what, secret := range secrets {
		require.NotEmpty(t, secret, what)
		for where, text := range told {
			require.NotEmpty(t, text, where)
			if strings.Contains(text, secret) {
				t.Errorf("%s stands in %s", what, where)
			}
		}
	}
}

// history is all that Temporal knows of a workflow, payloads included.
func (s *stack) history(t *testing.T, workflow string) string {
	t.Helper()
	var b strings.Builder
	events := s.temporal(t).GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		raw, err := proto.Marshal(e)
		require.NoError(t, err)
		b.Write(raw)
	}
	return b.String()
}

// logs reads what the stack's processes have written.
func (s *stack) logs(t *testing.T, told map[string]string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".log" {
			if d != nil && d.IsDir() && d.Name() == "postgres" {
				return filepath.SkipDir // it belongs to somebody else
			}
			return err
		}
		b, err := os.ReadFile(path)
		if len(b) > 0 {
			told[filepath.Base(path)] = string(b)
		}
		return err
	}))
	require.Contains(t, told, "conductor-1.log")
	require.Contains(t, told, "api.log")
}

// tables reads every row of the database, as a thief of its backup would.
func (s *stack) tables(t *testing.T, told map[string]string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), s.at.DatabaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	rows, err := db.Query(t.Context(), `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(names), 5)
	for _, name := range names {
		rows, err := db.Query(t.Context(), "SELECT r::text FROM "+name+" r")
		require.NoError(t, err)
		all, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		if len(all) > 0 {
			told["the table "+name] = strings.Join(all, "\n")
		}
	}
	require.Contains(t, told, "the table public.nodes")
}
