package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
)

// A console is continued at the conductor that takes it over, and at its own one if that holds it anew. It ends when its conductor
// ends it.
func TestAConsoleIsContinuedAtTheNextConductor(t *testing.T) {
	at := make(chan client.Console, 4)
	listen := func(conductor string, claim int64) net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		at <- client.Console{Enabled: true, Conductor: conductor, Claim: claim, URL: "tcp://" + l.Addr().String()}
		return l
	}
	accept := func(l net.Listener) net.Conn {
		c, err := l.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	receive := func(from io.Reader, want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(from, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	var told, all bytes.Buffer
	l := &consoleLine{name: "n1", tell: &told, find: func(context.Context, string) (client.Console, error) { return <-at, nil }}
	l.ctx, l.end = context.WithCancel(t.Context())
	first := listen("c1", 1)
	require.NoError(t, l.connect())
	conn := accept(first)
	_, err := l.Write([]byte("ls\r"))
	require.NoError(t, err)
	receive(conn, "ls\r")

	at <- client.Console{Enabled: true} // nobody holds it for a moment
	continues := func(at net.Listener) {
		t.Helper()
		require.NoError(t, conn.Close())
		read := make(chan string, 1)
		go func() {
			got := make([]byte, 7)
			_, _ = io.ReadFull(l, got)
			read <- string(got)
		}()
		conn = accept(at)
		_, err := io.WriteString(conn, "login: ")
		require.NoError(t, err)
		require.Equal(t, "login: ", <-read)
		require.Contains(t, told.String(), "connected again")
		require.NotContains(t, told.String(), "\n\n")
		told.Reset()
	}
	l.tell = io.MultiWriter(&told, &all)
	continues(listen("c2", 2))
	require.Regexp(t, "temper: no conductor holds the console of node n1; temper node console show n1 says more; trying again until \\d\\d:\\d\\d:\\d\\dZ\r\n", all.String())
	continues(listen("c2", 3))

	// It was started again right after the API was asked.
	old := listen("c2", 3)
	at <- client.Console{Enabled: true, Conductor: "c2", Claim: 4}
	continues(listen("c2", 4))
	_ = accept(old)

	again := listen("c2", 4)
	at <- client.Console{Enabled: true, Conductor: "c2", Claim: 4}
	require.NoError(t, conn.Close())
	_, err = l.Read(make([]byte, 1))
	require.ErrorContains(t, err, "the conductor has ended the connection")
	_ = accept(again)
	require.NoError(t, l.Close())
}
