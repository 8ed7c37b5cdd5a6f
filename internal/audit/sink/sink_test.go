package sink_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/audit/sink"
	"go.temper.dev/temper/internal/store"
	"go.temper.dev/temper/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type bench struct {
	*testing.T
	db  *store.Store
	url string
}

func newBench(t *testing.T) *bench {
	keys, err := store.NewKeyset()
	require.NoError(t, err)
	url := testenv.Postgres(t)
	db, err := store.Open(t.Context(), store.Config{URL: url, Keyset: keys})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return &bench{t, db, url}
}

func (b *bench) write(user string) {
	b.Helper()
	require.NoError(b, b.db.Audit(b.Context(), audit.Entry{User: user, Outcome: audit.Accepted, What: []string{}}, false))
}

func (b *bench) sql(sql string) {
	b.Helper()
	c, err := pgx.Connect(b.Context(), b.url)
	require.NoError(b, err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(b.Context(), sql)
	require.NoError(b, err)
}

// send runs a sink until the function that it returns is called.
func (b *bench) send(holder string, w sink.Writer) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	s := &sink.Sink{Name: "file", Holder: holder, Store: b.db, Writer: w, Log: zap.NewNop()}
	go func() { s.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

func users(t testing.TB, path string) (out []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		var e audit.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		out = append(out, e.User)
	}
	return out
}

func (b *bench) becomes(path string, want ...string) {
	b.Helper()
	require.Eventually(b, func() bool { return fmt.Sprint(users(b, path)) == fmt.Sprint(want) }, time.Minute, 20*time.Millisecond, "%v", want)
}

func TestTheFileHasEachRowInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "audit.log")
	b.write("u1")
	stop := b.send("o1", sink.NewFile(path))
	b.becomes(path, "u1")

	// A transaction has its number, and commits after the one behind it.
	c, err := pgx.Connect(t.Context(), b.url)
	require.NoError(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	_, err = c.Exec(t.Context(), `BEGIN; INSERT INTO audit (username, method, source, request_id, rule, route, node_name, kind, target, what, reason, outcome, status)
		VALUES ('u2', '', '', '', '', '', '', '', '', '{}', '', 'accepted', 0)`)
	require.NoError(t, err)
	b.write("u3")
	other := filepath.Join(t.TempDir(), "other")
	second := &sink.Sink{Name: "other", Holder: "o1", Store: b.db, Writer: sink.NewFile(other), Log: zap.NewNop()}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { second.Run(ctx); close(ended) }()
	_, err = c.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	b.becomes(path, "u1", "u2", "u3")
	b.becomes(other, "u1", "u2", "u3")
	cancel()
	<-ended

	// logrotate renames it.
	require.NoError(t, os.Rename(path, path+".1"))
	b.write("u4")
	b.becomes(path, "u4")
	stop()

	// Another process goes on where the first one was, once its lease has ended.
	b.write("u5")
	stop = b.send("o2", sink.NewFile(path))
	defer stop()
	require.Equal(t, []string{"u4"}, users(t, path))
	b.sql(`UPDATE audit_sinks SET held_until = clock_timestamp() WHERE name = 'file'`)
	b.becomes(path, "u4", "u5")
}

// A write that fails is tried again, and nothing is lost.
func TestWhatCanNotBeWrittenIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := filepath.Join(t.TempDir(), "later")
	b.write("u1")
	defer b.send("o1", sink.NewFile(filepath.Join(dir, "audit.log")))()
	b.write("u2")
	require.NoError(t, os.Mkdir(dir, 0o700))
	b.becomes(filepath.Join(dir, "audit.log"), "u1", "u2")
}

const message = `^<110>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \S+ temper \d+ audit - {"seq":1}$`

func TestSyslog(t *testing.T) {
	t.Parallel()
	rows := [][]byte{[]byte(`{"seq":1}`), []byte(`{"seq":1}`)}
	t.Run("udp", func(t *testing.T) {
		l, err := net.ListenPacket("udp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		datagrams(t, l, "udp://"+l.LocalAddr().String(), rows)
	})
	t.Run("unixgram", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		l, err := net.ListenPacket("unixgram", path)
		require.NoError(t, err)
		defer l.Close()
		datagrams(t, l, "unixgram://"+path, rows)
	})
	t.Run("tcp", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		w, err := sink.NewSyslog("tcp://" + l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, w.Write(t.Context(), rows))
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, w.Close())
		in := bufio.NewReader(c)
		for range rows {
			var n int
			_, err := fmt.Fscanf(in, "%d ", &n)
			require.NoError(t, err)
			text := make([]byte, n)
			_, err = io.ReadFull(in, text)
			require.NoError(t, err)
			require.Regexp(t, message, string(text))
		}
	})
	for _, bad := range []string{"", "/dev/log", "udp://", "udp://host", "http://host:80", "unixgram://host", "tcp://host:1/path"} {
		_, err := sink.NewSyslog(bad)
		require.ErrorContains(t, err, "want unixgram", bad)
	}
	_, err := sink.NewSyslog("udp://a b:1")
	require.Error(t, err)
}

func datagrams(t *testing.T, l net.PacketConn, to string, rows [][]byte) {
	w, err := sink.NewSyslog(to)
	require.NoError(t, err)
	defer func() { _ = w.Close() }()
	require.NoError(t, w.Write(t.Context(), rows))
	buf := make([]byte, 1000)
	for range rows {
		n, _, err := l.ReadFrom(buf)
		require.NoError(t, err)
		require.Regexp(t, message, string(buf[:n]))
	}
}
