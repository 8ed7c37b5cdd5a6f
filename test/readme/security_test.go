package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/readme"
	"go.temper.dev/temper/test/stack"
)

// serving is the line that starts Temper and does not end.
const serving = "temper dev "

func TestTheSecurityPageCanBeFollowed(t *testing.T) {
	testenv.Need(t, "htpasswd", "apache2-utils")
	testenv.Need(t, "openssl", "openssl")
	text, err := os.ReadFile(filepath.Join(stack.Root, "docs", "security.md"))
	require.NoError(t, err)
	bin, err := stack.Programs(t.Context(), stack.Root)
	require.NoError(t, err)
	script := []string{"set -e -x"}
	for _, b := range readme.Blocks(string(text)) {
		for _, c := range b.Commands {
			c = strings.ReplaceAll(c, "https://127.0.0.1:6385", `$(sed -n 's/.*"api_url": "\(.*\)",/\1/p' data/dev.json)`)
			if c = strings.ReplaceAll(c, "127.0.0.1:6385", "127.0.0.1:0"); strings.HasPrefix(c, serving) {
				c = c + " >dev.log 2>&1 & started=$!\nfor i in $(seq 600); do test -e data/dev.json && break; sleep 0.2; done\nuntil grep -q \"this process is ready\" data/logs/conductor-*.log; do sleep 0.2; done"
			}
			script = append(script, c)
		}
	}
	script = append(script, "kill $started; wait $started || true")
	folder := stack.Folder(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.Join(script, "\n"))
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // what a failed script has left
	out, err := cmd.CombinedOutput()
	said := string(out)
	require.NoError(t, err, said)
	_, afterLogin, _ := strings.Cut(said, "TEMPER_API_USER=cleo")
	seen, _, _ := strings.Cut(afterLogin, "TEMPER_API_USER=ada")
	require.Contains(t, seen, "web-1")
	require.Contains(t, seen, "Node db-1 could not be found")
	require.Contains(t, seen, "temper:fleet:get")
	require.Contains(t, said, "temper_", "the token")
	require.Contains(t, said, "baremetal:node:set_maintenance")
}
