package store_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

// dump returns all rows of all tables as text.
func dump(t *testing.T, url string) string {
	t.Helper()
	conn := beside(t, url)
	rows, err := conn.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var out strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(t.Context(), "SELECT t::text FROM "+pgx.Identifier{table}.Sanitize()+" t")
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		fmt.Fprintln(&out, table, lines)
	}
	return out.String()
}

func TestSecretsAreNowhereInTheClear(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	const password, drive, arg, token, forgotten = "hunter2-bmc", "hunter2-drive", "hunter2-arg", "hunter2-token", "hunter2-forgotten"
	n := &node.Node{
		Name: "n", Driver: "redfish", ProvisionState: node.Available,
		DriverInfo: map[string]any{"redfish_password": mask.Masked, "snmp": map[string]any{"auth_key": forgotten}},
	}
	require.NoError(t, s.CreateNode(t.Context(), n, node.Secrets{"driver_info/redfish_password": password}, "admin"))
	o, err := s.Request(t.Context(), n.UUID, func(n *node.Node) (*node.Request, error) {
		r, _ := deploy(n)
		r.Open.Steps = []node.Step{{Interface: "raid", Step: "apply", Args: map[string]any{"password": arg, "size": 1.0}}}
		r.Apply = func(n *node.Node) {
			n.InstanceInfo = map[string]any{"configdrive": drive, "list": []any{map[string]any{"token": forgotten}}}
		}
		return r, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), o.ID, "r1", first, time.Time{}, "c1")
	require.NoError(t, err)
	got, err := s.BeginBoot(t.Context(), o.ID, first, bootMedium(token))
	require.NoError(t, err)
	require.Equal(t, token, got)
	got, err = s.AgentLookup(t.Context(), n.UUID, "10.0.0.1", func(int, bool, bool) (bool, string) { return true, "" })
	require.NoError(t, err)
	require.Equal(t, token, got)

	text := dump(t, url)
	require.Contains(t, text, "redfish_password")
	for _, secret := range []string{password, drive, arg, token, forgotten, "hunter2"} {
		require.NotContains(t, text, secret)
		require.NotContains(t, text, hex.EncodeToString([]byte(secret)))
		require.NotContains(t, text, base64.StdEncoding.EncodeToString([]byte(secret))[:8])
	}

	m, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, mask.Masked, m.DriverInfo["redfish_password"])
	require.Equal(t, mask.Masked, m.InstanceInfo["configdrive"])
	require.Equal(t, mask.Masked, m.Operation.Steps[0].Args["password"])

	secrets, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Equal(t, password, store.ReSecret(m.DriverInfo, secrets, "driver_info")["redfish_password"])
	require.Equal(t, map[string]any{"auth_key": forgotten}, store.ReSecret(m.DriverInfo, secrets, "driver_info")["snmp"])
	require.Equal(t, drive, store.ReSecret(m.InstanceInfo, secrets, "instance_info")["configdrive"])
	require.Equal(t, arg, secrets[fmt.Sprintf("operation/%d/steps/raid.apply#0/password", o.ID)])
	require.Equal(t, token, secrets["agent_token"])

	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	secrets, err = credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Len(t, secrets, 5, "that of the boot is gone, those of the operation stay for a retry")
	require.NotContains(t, secrets, "agent_token")
}

func TestSecretsGoWithTheirPlace(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	edit := func(secrets node.Secrets, f func(map[string]any)) {
		_, err := s.UpdateNode(t.Context(), n.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
			f(n.DriverInfo)
			return secrets, nil
		})
		require.NoError(t, err)
	}
	edit(node.Secrets{"driver_info/a_password": "1", "driver_info/b_password": "2"}, func(d map[string]any) {
		d["a_password"], d["b_password"] = mask.Masked, mask.Masked
	})
	edit(node.Secrets{"driver_info/b_password": "3"}, func(d map[string]any) { delete(d, "a_password") })
	secrets, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{"driver_info/b_password": "3"}, secrets)
	edit(node.Secrets{"driver_info/b_password": nil}, func(map[string]any) {})
	secrets, err = credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Empty(t, secrets)
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Available)
	secrets := node.Secrets{}
	for i := range 1200 {
		secrets[fmt.Sprintf("driver_info/p%d", i)] = json.Number(fmt.Sprint(i))
	}
	_, err := s.UpdateNode(t.Context(), n.UUID, "admin", func(*node.Node) (node.Secrets, error) { return secrets, nil })
	require.NoError(t, err)

	newer, err := store.AddKey(keyset)
	require.NoError(t, err)
	both := connect(t, store.Config{URL: url, Keyset: newer})
	got, err := credentials(t, both, n.UUID)
	require.NoError(t, err)
	require.Equal(t, secrets, got, "the older key still opens")
	_, err = both.UpdateNode(t.Context(), n.UUID, "admin", func(*node.Node) (node.Secrets, error) { return node.Secrets{"driver_info/new": "x"}, nil })
	require.NoError(t, err)
	_, err = credentials(t, s, n.UUID)
	kind(t, fault.Internal, err)
	require.NotContains(t, err.Error(), "x\"")

	count, err := both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 1200, count)
	require.EqualValues(t, 1, ask[int64](t, url, "SELECT count(DISTINCT key_id) FROM secrets"))
	secrets["driver_info/new"] = "x"
	got, err = credentials(t, both, n.UUID)
	require.NoError(t, err)
	require.Equal(t, secrets, got)
	count, err = both.Rotate(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestASealedValueOpensOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	a, b := create(t, s, node.Available), create(t, s, node.Available)
	_, err := s.UpdateNode(t.Context(), a.UUID, "admin", func(*node.Node) (node.Secrets, error) { return node.Secrets{"driver_info/p": "x"}, nil })
	require.NoError(t, err)
	raw(t, url, "UPDATE secrets SET node_id = $1", b.ID)
	_, err = credentials(t, s, b.UUID)
	kind(t, fault.Internal, err)
}

func TestKeysetsThatAreNone(t *testing.T) {
	t.Parallel()
	url := "postgres://127.0.0.1:1/none"
	for name, text := range map[string]string{"no JSON": "secret words", "another JSON": `{"secret":"words"}`, "no key": `{"primaryKeyId":1,"key":[]}`} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Open(t.Context(), store.Config{URL: url, Keyset: text})
			kind(t, fault.Invalid, err)
			require.NotContains(t, err.Error(), "words")
		})
	}
	without := connect(t, store.Config{URL: testenv.Postgres(t)})
	err := without.CreateNode(t.Context(), &node.Node{Driver: "x"}, node.Secrets{"driver_info/p": "x"}, "")
	kind(t, fault.Internal, err)
	require.NoError(t, without.CreateNode(t.Context(), &node.Node{Driver: "x"}, nil, ""), "a node without secrets needs no keys")
}

func TestAnAddressThatIsWrongIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:hunter2@host:port/db", "postgres://u:hunter2@[::1/db", "user=u password=hunter2 port=x"} {
		_, err := store.Open(t.Context(), store.Config{URL: url})
		kind(t, fault.Invalid, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
