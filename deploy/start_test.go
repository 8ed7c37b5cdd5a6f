package deploy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

// containers gives each service an address of its own in 127/8, as compose gives it one.
type containers struct {
	t       *testing.T
	dir     string // an initialised checkout
	project *types.Project
	net     string
	next    int
	hosts   string // file as /etc/hosts, with the services that others name
}

func newContainers(t *testing.T) *containers {
	t.Helper()
	c := &containers{t: t, net: fmt.Sprintf("127.%d.%d.", 64+os.Getpid()%64, os.Getpid()/64%256), hosts: filepath.Join(t.TempDir(), "hosts")}
	c.dir, _ = initialised(t)
	values, err := dotenv.Read(filepath.Join(c.dir, ".env"))
	require.NoError(t, err)
	var environ []string
	for k, v := range values {
		environ = append(environ, k+"="+v)
	}
	c.project, err = composeFile(t, environ).LoadProject(t.Context())
	require.NoError(t, err)
	return c
}

func (c *containers) address() string {
	c.next++
	return c.net + fmt.Sprint(c.next)
}

// environ is the environment of a service, with its own address where it listens at all of its addresses.
func (c *containers) environ(name string) []string {
	at := c.address()
	environ := withFiles(c.t, c.project.Services[name], c.dir)
	for i, kv := range environ {
		environ[i] = strings.Replace(kv, "=0.0.0.0:", "="+at+":", 1)
	}
	return append(environ, "HOME="+c.t.TempDir())
}

// command is a program in a mount namespace in which the names of services lead to their addresses.
func (c *containers) command(ctx context.Context, environ []string, args ...string) *exec.Cmd {
	unshare := []string{"--mount"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--map-current-user")
	}
	unshare = append(unshare, "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, c.hosts)
	cmd := exec.CommandContext(ctx, "unshare", append(unshare, args...)...)
	cmd.Env = append(environ, "PATH="+os.Getenv("PATH"))
	return cmd
}

// postgres starts PostgreSQL with the certificate that init.sh made and with the roles, as the services do, and returns its address.
func (c *containers) postgres() string {
	c.t.Helper()
	t := c.t
	dir, err := os.MkdirTemp("", "temper-compose-") // PostgreSQL may run as another user
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: filepath.Join(dir, "pg"), EndWithStarter: true, Settings: map[string]string{"fsync": "off"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	require.NoError(t, server.CreateDatabase(t.Context(), "temper"))
	c.secure(server, filepath.Join(dir, "pg"))

	bins, err := pgserver.Find()
	require.NoError(t, err)
	psql := exec.CommandContext(within(t, time.Minute), filepath.Join(bins.Dir, "psql"), server.URL("temper"), "-f", "compose/database-roles.sql")
	psql.Env = os.Environ()
	for name, v := range c.project.Services["database-roles"].Environment {
		if strings.HasPrefix(name, "TEMPER_") {
			psql.Env = append(psql.Env, name+"="+*v)
		}
	}
	out, err := psql.CombinedOutput()
	require.NoError(t, err, "%s", out)
	at := c.address()
	forward(t, at+":5432", fmt.Sprintf("127.0.0.1:%d", server.Port))
	return at
}

// secure has a server use TLS.
func (c *containers) secure(server *pgserver.Server, dir string) {
	c.t.Helper()
	info, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(c.t, err)
	owner := info.Sys().(*syscall.Stat_t)
	db, err := pgx.Connect(c.t.Context(), server.URL("postgres"))
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, db.Close(c.t.Context())) }()
	for setting, file := range map[string]string{"ssl_cert_file": "postgres.pem", "ssl_key_file": "postgres.key"} {
		to := filepath.Join(dir, "data", file)
		require.NoError(c.t, os.WriteFile(to, []byte(read(c.t, filepath.Join(c.dir, ".temper/compose/tls", file))), 0o600))
		require.NoError(c.t, os.Chown(to, int(owner.Uid), int(owner.Gid)))
		_, err = db.Exec(c.t.Context(), "ALTER SYSTEM SET "+setting+" = '"+file+"'")
		require.NoError(c.t, err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()"} {
		_, err = db.Exec(c.t.Context(), sql)
		require.NoError(c.t, err)
	}
}

// forward forwards connections.
func forward(t *testing.T, from, to string) {
	t.Helper()
	l, err := net.Listen("tcp", from) //nolint:noctx // a test
	require.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to) //nolint:noctx // a test
			if err != nil {
				_ = in.Close()
				continue
			}
			for a, b := range map[net.Conn]net.Conn{in: out, out: in} {
				all.Go(func() { _, _ = io.Copy(a, b); _ = a.Close() })
			}
		}
	})
}

// temporal starts Temporal, and returns its address.
func (c *containers) temporal() string {
	c.t.Helper()
	program, err := temper()
	require.NoError(c.t, err)
	at, dir := c.address(), c.t.TempDir()
	ready := filepath.Join(dir, "ready")
	running, err := dev.Command{
		Path: filepath.Join(filepath.Dir(program), "temporal-dev"), LogFile: filepath.Join(dir, "log"), ReadyFile: ready, Env: stack.Environ(),
		Args: []string{"-data", dir, "-listen", at + ":7233", "-namespace", "temper", "-ui-listen", "", "-ready-file", ready},
	}.Run(c.t.Context())
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, running.Stop(context.Background())) })
	return at
}

// Every role starts with the environment that compose gives it, is healthy by compose's own check, and the API knows the conductors:
// so the names, the certificates and the passwords that init.sh makes fit one another.
func TestEveryRoleStartsWithComposesEnvironment(t *testing.T) {
	testenv.Need(t, "unshare", "util-linux")
	program, err := temper()
	require.NoError(t, err)
	c := newContainers(t)
	require.NoError(t, os.WriteFile(c.hosts, []byte(fmt.Sprintf("127.0.0.1 localhost\n%s postgres\n%s temporal\n", c.postgres(), c.temporal())), 0o644))

	out, err := c.command(within(t, time.Minute), c.environ("migrate"), program, "migrate").CombinedOutput()
	require.NoError(t, err, "%s", out)
	api := ""
	for _, name := range []string{"orchestrator", "conductor-1", "conductor-2", "conductor-3", "api"} {
		environ := c.environ(name)
		if name == "api" {
			api = c.net + fmt.Sprint(c.next) + ":6385"
		}
		service := c.project.Services[name]
		log := filepath.Join(t.TempDir(), "log")
		f, err := os.Create(log)
		require.NoError(t, err)
		defer f.Close()
		cmd := c.command(context.WithoutCancel(t.Context()), environ, append([]string{program}, service.Command...)...)
		cmd.Stdout, cmd.Stderr = f, f
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Signal(os.Interrupt); _ = cmd.Wait() })
		require.Eventually(t, func() bool {
			check := append([]string{program}, service.HealthCheck.Test[2:]...)
			out, err = c.command(within(t, time.Minute), environ, check...).CombinedOutput()
			return err == nil
		}, time.Minute, 200*time.Millisecond, "%s: %s, %s", name, out, read(t, log))
	}
	require.Eventually(t, func() bool { return c.conductors(api) == 3 }, time.Minute, 200*time.Millisecond)
}

// conductors returns how many conductors an API lists that is reached by https with the authority of init.sh.
func (c *containers) conductors(api string) int {
	c.t.Helper()
	authorities := x509.NewCertPool()
	require.True(c.t, authorities.AppendCertsFromPEM([]byte(read(c.t, filepath.Join(c.dir, ".temper/compose/tls/ca.pem")))))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: "api"}}} //nolint:gosec // a test
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "https://"+api+"/v1/conductors", nil)
	require.NoError(c.t, err)
	req.SetBasicAuth("admin", "secret")
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.49")
	res, err := client.Do(req)
	require.NoError(c.t, err)
	defer res.Body.Close()
	var list struct {
		Conductors []struct{ Alive bool } `json:"conductors"`
	}
	require.NoError(c.t, json.NewDecoder(res.Body).Decode(&list))
	return len(list.Conductors)
}
