package keystone_test

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/access"
	auth "go.temper.dev/temper/internal/keystone"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/keystone"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The authenticator understands the real Keystone: who has which roles, and what it says of tokens that are no longer valid.
func TestTheRealKeystone(t *testing.T) {
	testenv.OnlyInAll(t, "Keystone takes 30 s to start; the tests of internal/keystone have the same answers from a small server")
	if _, err := exec.LookPath("openstack"); err != nil {
		t.Fatal("openstack is not installed (Debian: apt-get install --no-install-recommends python3-openstackclient python3-ironicclient)")
	}
	c := keystone.Start(t)
	now := time.Now
	a, err := auth.New(auth.Settings{
		CloudsFile: c.CloudsFile, Cloud: keystone.Temper, ServiceProject: "service", ServiceDomain: "Default",
		Now: func() time.Time { return now() }, Log: zap.NewNop(),
	})
	require.NoError(t, err)
	ask := func(token string) (*access.Identity, *access.Refusal) {
		r := httptest.NewRequest(http.MethodGet, "/v1/nodes", nil)
		r.Header.Set("X-Auth-Token", token)
		return a.Authenticate(r)
	}
	var last string
	for name, want := range map[string][]access.Grant{
		keystone.Alice:  {{Role: access.Admin}, {Role: access.Member}, {Role: access.Reader}},
		keystone.Bob:    {{Role: access.Member, Project: c.Projects["p1"]}, {Role: access.Reader, Project: c.Projects["p1"]}},
		keystone.Carol:  {{Role: access.Reader, Project: c.Projects["p2"]}},
		keystone.Temper: {{Role: access.Service, Project: c.Projects["service"]}, {Role: access.Member}},
	} {
		last = c.Token(t, name)
		id, refusal := ask(last)
		require.Nil(t, refusal, name)
		require.Equal(t, name, id.User)
		require.Equal(t, want, withoutManager(id.Grants), name)
		require.WithinRange(t, id.Expires, time.Now(), time.Now().Add(25*time.Hour))
	}
	id, refusal := ask(last[:len(last)-8] + "AAAAAAA=")
	require.Nil(t, id)
	require.Equal(t, 401, refusal.Status)

	c.Revoke(t, last)
	id, _ = ask(last)
	require.NotNil(t, id, "the answer of before is used")
	now = func() time.Time { return time.Now().Add(6 * time.Minute) }
	id, refusal = ask(last)
	require.Nil(t, id)
	require.Equal(t, 401, refusal.Status)
	testOpenStacksClient(t, c, a)
}

// withoutManager leaves out the role that newer versions of Keystone put between admin and member.
func withoutManager(grants []access.Grant) (out []access.Grant) {
	for _, g := range grants {
		if g.Role != access.Manager {
			out = append(out, g)
		}
	}
	return out
}

// OpenStack's own client finds Temper's API in the catalog, and each user sees and does there what his roles let him.
func testOpenStacksClient(t *testing.T, c *keystone.Cloud, a access.Authenticator) {
	t.Helper()
	b := apitest.New(t, func(config *api.Config) { config.Auth.Others = []access.Authenticator{a} }).WithConductors()
	for name, owner := range map[string]string{"first": c.Projects["p1"], "second": c.Projects["p2"], "nobodys": ""} {
		b.SQL(`INSERT INTO nodes (uuid, name, driver, interfaces, owner, provision_state) VALUES (gen_random_uuid(), $1, 'fake-hardware', '{}', nullif($2, ''), 'enroll')`, name, owner)
	}
	served := httptest.NewServer(b.Handler)
	t.Cleanup(served.Close)
	c.Register(t, served.URL)
	run := func(user string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "openstack", append([]string{"--os-cloud", user, "baremetal"}, args...)...)
		cmd.Env = append(cmd.Environ(), "OS_CLIENT_CONFIG_FILE="+c.CloudsFile)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for user, want := range map[string][]string{keystone.Alice: {"first", "nobodys", "second"}, keystone.Bob: {"first"}, keystone.Carol: {"second"}, keystone.Temper: {"first", "nobodys", "second"}} {
		out, err := run(user, "node", "list", "--column", "Name", "--format", "value")
		require.NoError(t, err, out)
		got := strings.Fields(out)
		slices.Sort(got)
		require.Equal(t, want, got, user)
	}
	out, err := run(keystone.Bob, "node", "show", "second")
	require.Error(t, err)
	require.Contains(t, out, "Node second could not be found")
	out, err = run(keystone.Carol, "node", "maintenance", "set", "second")
	require.Error(t, err)
	require.Contains(t, out, "baremetal:node:set_maintenance")
	out, err = run(keystone.Bob, "node", "maintenance", "set", "first", "--reason", "a fan")
	require.NoError(t, err, out)
	out, err = run(keystone.Bob, "conductor", "list")
	require.Error(t, err)
	require.Contains(t, out, "baremetal:conductor:get")
	require.Equal(t, keystone.Bob, b.Text(`SELECT username FROM audit WHERE rule = 'baremetal:node:set_maintenance' AND outcome = 'accepted'`))
}
