package pgserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
)

// TestMain is also the program that starts a server and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PGSERVER_TEST_STARTER"); dir != "" {
		s, err := pgserver.Start(context.Background(), pgserver.Options{Dir: dir, EndWithStarter: os.Getenv("PGSERVER_TEST_END") != ""})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(s.Pid, s.Port)
		select {}
	}
	os.Exit(m.Run())
}

// folder is one that the server's user can enter, t.TempDir's parents are not.
func folder(t *testing.T) string {
	t.Helper()
	if _, err := pgserver.Find(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "pgserver-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "pg")
}

func start(t *testing.T, dir string) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir, EndWithStarter: true})
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *pgserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
}

func query(t *testing.T, s *pgserver.Server, sql string) (out string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL("work"))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&out))
	return out
}

func TestDataOutlivesStopKillAndStaleLockFile(t *testing.T) {
	dir := folder(t)
	s := start(t, dir)
	require.NoError(t, s.CreateDatabase(t.Context(), "work"))
	require.NoError(t, s.CreateDatabase(t.Context(), "work"), "making it again is fine")
	query(t, s, "SELECT lo_from_bytea(4711, 'here')::text")
	stop(t, s)
	stop(t, s)

	s = start(t, dir)
	require.Equal(t, "here", query(t, s, "SELECT convert_from(lo_get(4711), 'UTF8')"))
	require.NoError(t, syscall.Kill(s.Pid, syscall.SIGKILL))
	<-s.Done()

	// The number in the lock file now belongs to a living stranger: this process.
	lock := filepath.Join(dir, "data", "postmaster.pid")
	b, err := os.ReadFile(lock)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(b), "\n")
	require.NoError(t, os.WriteFile(lock, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600))
	s = start(t, dir)
	require.Equal(t, "here", query(t, s, "SELECT convert_from(lo_get(4711), 'UTF8')"))
}

func TestPasswordIsNeededAndPrivate(t *testing.T) {
	dir := folder(t)
	s := start(t, dir)
	info, err := os.Stat(filepath.Join(dir, "password"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	u, err := url.Parse(s.URL("postgres"))
	require.NoError(t, err)
	u.User = url.UserPassword(pgserver.User, "guess")
	_, err = pgx.Connect(t.Context(), u.String())
	require.ErrorContains(t, err, "28P01")
}

func starter(t *testing.T, dir string, env ...string) (cmd *exec.Cmd, pid, port int) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "PGSERVER_TEST_STARTER="+dir)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &pid, &port)
	require.NoError(t, err, line)
	return cmd, pid, port
}

func TestServerOutlivesItsKilledStarterAndIsTakenOver(t *testing.T) {
	dir := folder(t)
	cmd, pid, port := starter(t, dir)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	s := start(t, dir)
	require.Equal(t, pid, s.Pid)
	require.Equal(t, port, s.Port)
	stop(t, s)
	require.Eventually(t, func() bool {
		select {
		case <-s.Done():
			return true
		default:
			return false
		}
	}, 30*time.Second, 10*time.Millisecond)
}

func TestServerEndsWithItsKilledStarterWhenAsked(t *testing.T) {
	dir := folder(t)
	cmd, pid, _ := starter(t, dir, "PGSERVER_TEST_END=1")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid"))
		return os.IsNotExist(err) || syscall.Kill(pid, 0) != nil
	}, 30*time.Second, 20*time.Millisecond)
}

func TestFolderThatTheServerCannotEnterIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts the server as another user")
	}
	dir := folder(t)
	closed := filepath.Dir(dir)
	require.NoError(t, os.Chmod(closed, 0o700))
	_, err := pgserver.Start(t.Context(), pgserver.Options{Dir: dir})
	require.ErrorContains(t, err, "chmod o+x "+closed)
}
