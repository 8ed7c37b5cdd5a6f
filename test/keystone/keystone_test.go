package keystone_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/access"
	auth "go.temper.dev/temper/internal/keystone"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/keystone"
)

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

// OpenStack's own client finds the API in the catalog and sends it a token that the authenticator knows.
func testOpenStacksClient(t *testing.T, c *keystone.Cloud, a access.Authenticator) {
	t.Helper()
	users := make(chan string, 100)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id, _ := a.Authenticate(r); id != nil {
			users <- id.User
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-OpenStack-Ironic-API-Minimum-Version", "1.1")
		w.Header().Set("X-OpenStack-Ironic-API-Maximum-Version", "1.80")
		_ = json.NewEncoder(w).Encode(map[string]any{"nodes": []any{}})
	}))
	t.Cleanup(api.Close)
	c.Register(t, api.URL)
	cmd := exec.CommandContext(t.Context(), "openstack", "--os-cloud", keystone.Bob, "baremetal", "node", "list", "--format", "json")
	cmd.Env = append(cmd.Environ(), "OS_CLIENT_CONFIG_FILE="+c.CloudsFile)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.JSONEq(t, "[]", string(out))
	require.Equal(t, keystone.Bob, <-users)
}
