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

// eavesdropper records the token that an agent sends.
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
	if a != nil && json.Unmarshal(a.Body, &l) == nil && len(l.Config.Token) >= 32 {
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
	n := available(t, s, ownRack(t, newProxy(t, s.APIURL, ear.between), sim.Config{Servers: 1}))
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
		told[path] = string(s.must(t, http.StatusOK, http.MethodGet, path, nil).Body)
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

// URLs with a password or a signature are in the dictionaries of the node, for those who may see it, and nowhere else:
// not in the errors of operations that fail over them.
func TestNoSecretOfAURLIsToldAnywhere(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	const secret = "SECRET-of-a-URL"
	signed := func(path string) string {
		return "http://reader:" + secret + "@" + strings.TrimPrefix(n.r.url, "http://") + path + "?X-Amz-Signature=" + secret + "&token=" + secret
	}
	iso, err := n.hardwareInfo("deploy_iso")
	require.NoError(t, err)
	right := digest(t, n.r)
	var ids []string
	for _, c := range []struct {
		iso, image, checksum string
		refused              bool // by the API
	}{
		{iso: signed("/images/nothing.iso"), image: n.r.url + "/images/disk.raw", checksum: right},
		{iso: "http://reader:" + secret + "@127.0.0.1:1/a.iso?sig=" + secret, image: n.r.url + "/images/disk.raw", checksum: right},
		{iso: iso, image: n.r.url + "/images/disk.raw", checksum: signed("/images/nothing.sums"), refused: true},
		{iso: iso, image: signed("/images/nothing.raw"), checksum: right, refused: true},
	} {
		n.patch("driver_info/deploy_iso", c.iso)
		info := map[string]any{"image_source": c.image, "image_disk_format": "raw", "image_checksum": c.checksum}
		if c.refused {
			n.refusedFor(info, "the server answered 404")
		}
		n.patch("instance_info", info)
		id := n.provision("active", nil)
		now := n.failed(id, "deploy failed")
		require.NotEmpty(t, text(now.LastError))
		t.Log(text(now.LastError))
		ids = append(ids, id)
	}
	told := map[string]string{}
	for _, path := range []string{
		"/v1/nodes/" + n.uuid + "/states", "/v1/nodes/" + n.uuid + "/history?detail=true", "/v1/nodes/" + n.uuid + "/validate",
		"/v1/nodes/" + n.uuid + "?fields=last_error,driver_internal_info,deploy_step", "/temper/v1/operations?node=" + n.uuid, "/temper/v1/nodes/" + n.uuid + "/why",
	} {
		told[path] = string(s.must(t, http.StatusOK, http.MethodGet, path, nil).Body)
	}
	for _, id := range ids {
		o, err := n.operation(id)
		require.NoError(t, err)
		told["Temporal's history of "+o.WorkflowID] = s.history(t, o.WorkflowID)
	}
	s.logs(t, told)
	s.tables(t, told)
	told["the table public.nodes"] = s.withoutDictionaries(t)
	for where, words := range told {
		require.NotEmpty(t, words, where)
		if i := strings.Index(words, secret); i >= 0 {
			t.Errorf("it stands in %s: %.400s", where, words[max(0, i-200):])
		}
	}
}

// hardwareInfo returns a value of the node's driver_info.
func (n *node) hardwareInfo(key string) (string, error) {
	var now struct {
		Info map[string]any `json:"driver_info"`
	}
	err := n.s.read("/v1/nodes/"+n.uuid+"?fields=driver_info", &now)
	value, _ := now.Info[key].(string)
	return value, err
}

// withoutDictionaries returns the rows of nodes without the dictionaries that users write.
func (s *stack) withoutDictionaries(t *testing.T) string {
	t.Helper()
	db := s.database(t)
	rows, err := db.Query(t.Context(), `SELECT (to_jsonb(n) - 'driver_info' - 'instance_info')::text FROM nodes n`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(all, "\n")
}

// history returns all that Temporal stores of a workflow, with payloads.
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
	require.NoError(t, filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".log" {
			if d != nil && d.IsDir() && d.Name() == "postgres" {
				return filepath.SkipDir // the folder belongs to another user
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

// tables reads every row of the database, like a stolen backup.
func (s *stack) tables(t *testing.T, told map[string]string) {
	t.Helper()
	db := s.database(t)
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
