package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// temporal-dev has no login, so it may listen on loopback only.
func TestListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--metrics-listen", "127.0.0.1:0")
	mine := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	require.NoError(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.Trim(to, "socket:[]")] = true
		}
	}
	const loopback4, loopback6, listening = "0100007F", "00000000000000000000000001000000", "0A"
	listeners := 0
	for _, table := range []string{"tcp", "tcp6"} {
		body, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.cmd.Process.Pid, table))
		require.NoError(t, err)
		for _, line := range strings.Split(string(body), "\n") {
			f := strings.Fields(line) // sl local remote state ... inode: proc(5)
			if len(f) < 10 || f[3] != listening || !mine[f[9]] {
				continue
			}
			listeners++
			host, _, _ := strings.Cut(f[1], ":")
			require.Contains(t, []string{loopback4, loopback6}, host, "listens on %s", f[1])
		}
	}
	require.Equal(t, 6, listeners, "frontend, history, matching, worker, ui, metrics")
}
