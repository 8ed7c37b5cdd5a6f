// Package keystone starts OpenStack's Keystone for tests: Debian's, with a database and keys in a folder that goes with the test.
package keystone

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/stretchr/testify/require"
)

// The users, each with a cloud of his name in CloudsFile. Temper may check tokens; Admin is who set everything up.
const (
	Temper = "temper" // service in the project service
	Alice  = "alice"  // admin of the system
	Bob    = "bob"    // member in the project p1
	Carol  = "carol"  // reader in the project p2
	Admin  = "admin"
)

// Cloud is a running Keystone.
type Cloud struct {
	URL        string // of Keystone, without v3
	CloudsFile string
	Projects   map[string]string // ids by name
	folder     string
	password   string
	admin      *gophercloud.ServiceClient
}

// Start starts Keystone with its users. It fails the test where Keystone is not installed.
func Start(t testing.TB) *Cloud {
	t.Helper()
	for _, name := range []string{"keystone-manage", "keystone-wsgi-public", "uwsgi_python3"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatal(name + " is not installed (Debian: apt-get install --no-install-recommends keystone)")
		}
	}
	c := &Cloud{folder: t.TempDir(), password: rand.Text(), Projects: map[string]string{}}
	port := freePort(t)
	c.URL = "http://127.0.0.1:" + port
	c.write(t, "keystone.conf", `[DEFAULT]
use_stderr = false
log_file = {folder}/keystone.log
[database]
connection = sqlite:///{folder}/keystone.db
[fernet_tokens]
key_repository = {folder}/keys
[fernet_receipts]
key_repository = {folder}/keys
[credential]
key_repository = {folder}/keys
[identity]
password_hash_rounds = 4
`)
	c.manage(t, "db_sync")
	// With a log that is written ahead, Keystone's open reads do not lock its own writes out.
	out, err := c.command(t.Context(), "/usr/bin/python3", "-c", `import sqlite3; sqlite3.connect("keystone.db").execute("pragma journal_mode=wal")`).CombinedOutput()
	require.NoError(t, err, string(out))
	c.manage(t, "fernet_setup", "--keystone-user", user(), "--keystone-group", user())
	c.manage(t, "bootstrap", "--bootstrap-password", c.password, "--bootstrap-public-url", c.URL+"/v3")
	c.serve(t, port)
	c.CloudsFile = filepath.Join(c.folder, "clouds.yaml")
	c.write(t, "clouds.yaml", "clouds:\n"+c.cloud(Temper, "service")+c.cloud(Alice, "")+c.cloud(Bob, "p1")+c.cloud(Carol, "p2")+c.cloud(Admin, ""))
	provider := c.login(t, Admin)
	c.admin, err = openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	require.NoError(t, err)
	c.fill(t)
	return c
}

// user is the owner of the keys, as a number.
func user() string { return fmt.Sprint(os.Getuid()) }

func (c *Cloud) write(t testing.TB, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(c.folder, name), []byte(strings.ReplaceAll(text, "{folder}", c.folder)), 0o600))
}

// cloud is a user's entry in clouds.yaml; without a project he is in the system.
func (c *Cloud) cloud(name, project string) string {
	scope := "system_scope: all"
	if project != "" {
		scope = "project_name: " + project + "\n      project_domain_name: Default"
	}
	return fmt.Sprintf(`  %s:
    auth:
      auth_url: %s
      username: %s
      password: %s
      user_domain_name: Default
      %s
    identity_api_version: 3
`, name, c.URL, name, c.password, scope)
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return port
}

func (c *Cloud) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "OS_KEYSTONE_CONFIG_DIR="+c.folder)
	return cmd
}

func (c *Cloud) manage(t testing.TB, args ...string) {
	t.Helper()
	out, err := c.command(t.Context(), "keystone-manage", append([]string{"--config-file", filepath.Join(c.folder, "keystone.conf")}, args...)...).CombinedOutput()
	require.NoError(t, err, "keystone-manage %s: %s", args[0], out)
}

// serve starts Keystone and waits until it is ready. uwsgi is one process with one thread, because SQLite's connections belong to theirs.
func (c *Cloud) serve(t testing.TB, port string) {
	t.Helper()
	program, err := exec.LookPath("keystone-wsgi-public")
	require.NoError(t, err)
	cmd := c.command(context.WithoutCancel(t.Context()), "uwsgi_python3", "--http-socket", "127.0.0.1:"+port, "--wsgi-file", program,
		"--enable-threads", "--rem-header", "Content-Length", "--add-header", "Connection: close", "--buffer-size", "65535", "--need-app")
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
		if log, err := os.ReadFile(filepath.Join(c.folder, "keystone.log")); err == nil && t.Failed() {
			t.Logf("the end of Keystone's log: %s", log[max(0, len(log)-8000):])
		}
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "WSGI app 0 ") {
			go func() { _, _ = io.Copy(io.Discard, out) }() // it must not wait for a reader
			return
		}
		said.WriteString(lines.Text() + "\n")
	}
	t.Fatal("Keystone did not start: " + said.String())
}

// fill makes projects, users and their roles.
func (c *Cloud) fill(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	_, err := roles.Create(ctx, c.admin, roles.CreateOpts{Name: "service"}).Extract()
	require.NoError(t, err)
	pages, err := roles.List(c.admin, nil).AllPages(ctx)
	require.NoError(t, err)
	all, err := roles.ExtractRoles(pages)
	require.NoError(t, err)
	ids := map[string]string{}
	for _, r := range all {
		ids[r.Name] = r.ID
	}
	for _, name := range []string{"service", "p1", "p2"} {
		p, err := projects.Create(ctx, c.admin, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
		require.NoError(t, err)
		c.Projects[name] = p.ID
	}
	for name, of := range map[string]struct{ role, project string }{
		Temper: {"service", "service"}, Alice: {"admin", ""}, Bob: {"member", "p1"}, Carol: {"reader", "p2"},
	} {
		u, err := users.Create(ctx, c.admin, users.CreateOpts{Name: name, DomainID: "default", Password: c.password}).Extract()
		require.NoError(t, err)
		if of.project != "" {
			require.NoError(t, roles.Assign(ctx, c.admin, ids[of.role], roles.AssignOpts{UserID: u.ID, ProjectID: c.Projects[of.project]}).ExtractErr())
			continue
		}
		_, err = c.admin.Put(ctx, c.admin.ServiceURL("system", "users", u.ID, "roles", ids[of.role]), nil, nil, //nolint:bodyclose // it has none
			&gophercloud.RequestOpts{OkCodes: []int{http.StatusNoContent}})
		require.NoError(t, err)
	}
}

// login logs a user in by his password.
func (c *Cloud) login(t testing.TB, name string) *gophercloud.ProviderClient {
	t.Helper()
	auth, _, _, err := clouds.Parse(clouds.WithLocations(c.CloudsFile), clouds.WithCloudName(name))
	require.NoError(t, err)
	provider, err := config.NewProviderClient(t.Context(), auth)
	require.NoError(t, err)
	return provider
}

// Token returns a new token of a user.
func (c *Cloud) Token(t testing.TB, name string) string {
	t.Helper()
	return c.login(t, name).Token()
}

// Revoke revokes a token.
func (c *Cloud) Revoke(t testing.TB, token string) {
	t.Helper()
	require.NoError(t, tokens.Revoke(t.Context(), c.admin, token).Err)
}
