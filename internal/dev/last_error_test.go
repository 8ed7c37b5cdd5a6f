package dev

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stack is how zap and Go write one.
const stack = "go.temporal.io/server/common/log.(*zapLogger).Fatal\n\t/src/common/log/zap_logger.go:215\n" +
	"go.temporal.io/server/common/rpc.NewFactory.OnceValue[...].func1.1\n\t/src/sync/oncefunc.go:66\n" +
	"main.run({0x1, 0x2}, 0xc000)\n\t/src/main.go:10 +0x1\nmain.main()\n\t/src/main.go:3\n"

func TestOnlyTheErrorOfALogIsShown(t *testing.T) {
	const taken = "listen tcp 127.0.0.1:7: bind: address already in use"
	for name, c := range map[string]struct{ log, want string }{
		"our error, after the log's lines": {`{"level":"info","msg":"settings"}` + "\ntemper: api: " + taken + "\n", "temper: api: " + taken},
		"all lines of our error":           {"temper: api: settings:\nlisten: want host:port\n", "temper: api: settings:\nlisten: want host:port"},
		"a fatal line and its stack":       {"some warning\nfatal\tFailed to start\t{\"error\": \"" + taken + "\"}\n" + stack, "fatal\tFailed to start\t{\"error\": \"" + taken + "\"}"},
		"a panic and its stack":            {"a line\npanic: no such shard\n\ngoroutine 1 [running]:\n" + stack, "panic: no such shard"},
		"an empty log":                     {"", "nothing"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, lastError(c.log)) })
	}
}

// Somebody else listens on the address between its choice and the child's start.
func TestAChildWhoseAddressIsTakenIsStartedElsewhere(t *testing.T) {
	var said []string
	s := &Stack{dir: open(t, t.TempDir()), o: Options{Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}}
	var others []net.Listener
	start := s.retryPort("api", func(ctx context.Context) (Child, error) {
		at := s.dir.listen("api", "127.0.0.1:0")
		if len(others) < 2 {
			others = append(others, listener(t, at))
		}
		p, err := child(s.dir.path, "api", "listen").withArg(at).Run(ctx)
		if err != nil {
			return nil, err
		}
		return p, s.remember(map[string]string{"api": hostOf(p.ready.URL)})
	})
	c, err := start(t.Context())
	require.NoError(t, err)
	require.Len(t, said, 2)
	require.Contains(t, said[0], "another program listens on "+others[0].Addr().String()+"; starting api on another port")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = c.Stop(ctx) // it is killed: it does not listen to signals

	listener(t, s.dir.listen("api", ""))
	_, err = start(t.Context())
	require.ErrorContains(t, err, "address already in use", "the others know where it is: it can't move")
	require.NotContains(t, err.Error(), "\n", "one line, whatever stands in the log")
	log, err := os.ReadFile(filepath.Join(s.dir.path, "api.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), "zap_logger.go")
}
