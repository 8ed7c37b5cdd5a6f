package pgserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// User is the superuser of every cluster that this package creates.
const User = "temper"

// startTime is how long a cluster may take to accept connections, recovery
// after a crash included.
const startTime = 60 * time.Second

// Options say where and how a cluster runs.
type Options struct {
	// Dir is the folder of the cluster (data/, password). It is created if it is missing.
	Dir string
	// Port on 127.0.0.1; 0 = a free one.
	Port int
	// Settings override Defaults, by PostgreSQL's names.
	Settings map[string]string
	// LogFile is the server's log; "" = Dir/postgres.log.
	LogFile string
	// EndWithStarter ends the server when the process that started it ends for any reason
	// (Linux only; elsewhere the server runs on, and the next Start attaches to it).
	EndWithStarter bool
}

// Defaults returns the settings of a small cluster with full durability, for a developer's machine
// with two cores and a few hundred MB. wal_level minimal is safe because nothing is replicated.
func Defaults() map[string]string {
	return map[string]string{
		"fsync":                           "on",
		"synchronous_commit":              "on",
		"full_page_writes":                "on",
		"shared_buffers":                  "128MB",
		"max_connections":                 "200",
		"wal_level":                       "minimal",
		"max_wal_senders":                 "0",
		"wal_compression":                 "on",
		"max_wal_size":                    "2GB",
		"checkpoint_timeout":              "15min",
		"random_page_cost":                "1.1",
		"jit":                             "off",
		"max_parallel_workers_per_gather": "0", // short queries; two cores are shared with Temporal
		"huge_pages":                      "off",
		"log_line_prefix":                 "%m [%p] %a ",
		"log_min_duration_statement":      "2s",
		"log_checkpoints":                 "off",
		"timezone":                        "UTC",
	}
}

// Server is a running cluster.
type Server struct {
	// Pid is the process id of the postmaster.
	Pid int
	// Port is the port on 127.0.0.1 on which it listens.
	Port int

	dir      string
	password string
	done     chan struct{}
}

// Start starts the cluster in o.Dir, and creates it first if there is none. If a server already runs
// on the folder, because its starter was killed, Start attaches to it and keeps its port. It returns
// when the server answers queries.
func Start(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	c, err := prepare(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("prepare postgresql in %s: %w", o.Dir, err)
	}
	if s, err := c.attach(ctx); s != nil || err != nil {
		return s, err
	}
	// Another process may take the free port before PostgreSQL binds it, and the children of a
	// killed postmaster need a moment to release its shared memory.
	var last error
	for range 10 {
		s, err := c.launch(ctx, o)
		if err == nil {
			return s, nil
		}
		last = err
		if ctx.Err() != nil || o.Port != 0 && portTaken(o.Port) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("start postgresql in %s: %w", o.Dir, last)
}

// URL returns the URL of a database of the cluster. It contains the password: never log it.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(User, s.password), Path: database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)), RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Done returns a channel that is closed when the server has ended, for whatever reason.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop stops the server with a fast shutdown, which ends its sessions. If ctx ends first, it does an
// immediate shutdown, after which the next start recovers. Committed data is never lost.
func (s *Server) Stop(ctx context.Context) error {
	select {
	case <-s.done: // another process may have its number by now
		return nil
	default:
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		if err := syscall.Kill(s.Pid, signal); errors.Is(err, syscall.ESRCH) {
			return nil
		} else if err != nil {
			return fmt.Errorf("stop postgresql, process %d: %w", s.Pid, err)
		}
		select {
		case <-s.done:
			return nil
		case <-ctx.Done():
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
		}
	}
	return fmt.Errorf("stop postgresql: process %d is still there", s.Pid)
}

// CreateDatabase creates the database if it does not exist.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to make database %s: %w", name, err)
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is lost with a connection that ends badly
	_, err = conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42P04" { // duplicate_database
		return nil
	}
	return err
}

// launch starts the postmaster and waits until it answers or has ended.
func (c *cluster) launch(ctx context.Context, o Options) (*Server, error) {
	port := o.Port
	if port == 0 {
		var err error
		if port, err = freePort(); err != nil {
			return nil, err
		}
	}
	path := o.LogFile
	if path == "" {
		path = filepath.Join(o.Dir, "postgres.log")
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	from, _ := log.Seek(0, 2)
	cmd := exec.Command(filepath.Join(c.bins.Dir, "postgres"), arguments(c.data, port, o.Settings)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = c.data, log, log, c.env()
	cmd.SysProcAttr = c.attr(o.EndWithStarter)
	done := make(chan struct{})
	if err := startOnOwnThread(cmd, done); err != nil {
		return nil, err
	}
	s := &Server{Pid: cmd.Process.Pid, Port: port, dir: c.dir, password: c.password, done: done}
	if err := s.awaitReady(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.Stop(stop) // the error to report is why it did not start
		return nil, fmt.Errorf("%w; its log says: %s", err, logTail(path, from))
	}
	return s, nil
}

func arguments(data string, port int, over map[string]string) []string {
	settings := Defaults()
	maps.Copy(settings, over)
	settings["listen_addresses"] = "127.0.0.1"
	settings["port"] = strconv.Itoa(port)
	settings["unix_socket_directories"] = ""
	args := []string{"-D", data}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", k+"="+settings[k])
	}
	return args
}

// awaitReady waits until the server answers a query with our password, which also proves that it is
// not another program on the port.
func (s *Server) awaitReady(ctx context.Context) error {
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("postgresql ended while starting")
		case <-ctx.Done():
			return fmt.Errorf("postgresql does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing is lost with a connection that ends badly
	return conn.Ping(ctx)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func portTaken(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return true
	}
	return l.Close() != nil
}

// logTail returns what was written to the log since the offset from, at most 2 KiB, on one line.
func logTail(path string, from int64) string {
	b, err := os.ReadFile(path)
	if err != nil || int64(len(b)) <= from {
		return "nothing"
	}
	b = b[from:]
	if len(b) > 2048 {
		b = b[len(b)-2048:]
	}
	return strings.Join(strings.Fields(string(b)), " ")
}
