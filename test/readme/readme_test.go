package readme_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/test/readme"
	"go.temper.dev/temper/test/stack"
)

const (
	startWithin = 3 * time.Minute
	lineWithin  = 3 * time.Minute
	look        = 20 * time.Millisecond
)

// follower runs README's commands in a folder with the programs in bin, as after make build.
type follower struct {
	t      *testing.T
	dir    string
	env    map[string]string // as exported so far
	said   string            // the output of the current block's commands
	stack  *exec.Cmd
	rack   string       // host:port
	server stack.Server // the real one that is enrolled
}

func TestReadmeCanBeFollowed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(stack.Root, "README.md"))
	require.NoError(t, err)
	f := &follower{t: t, dir: stack.Folder(t), env: map[string]string{}}
	bin, err := stack.Programs(t.Context(), stack.Root)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(bin, filepath.Join(f.dir, "bin")))
	blocks := readme.Blocks(string(text))
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		f.said = ""
		for _, c := range b.Commands {
			f.follow(b.Section, c)
		}
	}
	require.NotNil(t, f.stack, "README starts nothing")
	for _, span := range regexp.MustCompile("`temper ([^`]+)`").FindAllStringSubmatch(string(text), -1) {
		f.known(strings.Fields(span[1]))
	}
}

// known checks that a command of temper exists and that its help has the flags.
func (f *follower) known(words []string) {
	f.t.Helper()
	n := 0
	for n < len(words) && regexp.MustCompile(`^[a-z-]+$`).MatchString(words[n]) && words[n][0] != '-' {
		n++
	}
	cmd := exec.CommandContext(f.t.Context(), filepath.Join(f.dir, "bin/temper"), append(slices.Clone(words[:n]), "--help")...)
	cmd.Env = f.environ()
	help, err := cmd.CombinedOutput()
	require.NoError(f.t, err, "%v: %s", words, help)
	if n > 0 {
		require.Contains(f.t, string(help), "temper "+strings.Join(words[:n], " "), "the help is another command's")
	}
	for _, w := range words[n:] {
		if strings.HasPrefix(w, "--") {
			require.Contains(f.t, string(help), w, "%v", words)
		}
	}
}

// follow runs one command.
func (f *follower) follow(section, command string) {
	f.t.Helper()
	f.t.Logf("%s: %s", section, command)
	switch {
	case command == "make dev":
		f.start(f.make(command))
	case strings.HasPrefix(command, "make "):
		f.make(command) // each takes minutes and has a run of its own
	case strings.HasPrefix(command, "baremetal ") && !installed("baremetal"):
		f.asBaremetal(command)
	default:
		f.run(f.fill(section, command))
	}
}

// make returns the last line of what make would run.
func (f *follower) make(command string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "make", append([]string{"--dry-run", "-C", stack.Root}, strings.Fields(command)[1:]...)...)
	cmd.Env = f.environ()
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, "%s: %s", command, out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.HasPrefix(lines[i], "make:") && !strings.HasPrefix(lines[i], "make[") {
			return lines[i]
		}
	}
	require.Fail(f.t, "make runs nothing", command)
	return ""
}

// start runs the command that starts the stack, and reads the addresses that it prints.
func (f *follower) start(command string) {
	f.t.Helper()
	out := filepath.Join(f.dir, "dev.out")
	file, err := os.Create(out)
	require.NoError(f.t, err)
	defer file.Close()
	f.stack = exec.Command("bash", "-c", "exec "+command)
	f.stack.Dir, f.stack.Env, f.stack.Stdout, f.stack.Stderr = f.dir, f.environ(), file, file
	require.NoError(f.t, f.stack.Start())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.stack.Wait() }() // its output tells how it ended
	f.t.Cleanup(func() {
		_ = f.stack.Process.Signal(syscall.SIGTERM) // it has ended, at the worst
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = f.stack.Process.Kill() // its children go with it
		}
	})
	var api []string
	require.Eventually(f.t, func() bool {
		b, err := os.ReadFile(out)
		require.NoError(f.t, err)
		f.said = string(b)
		api = regexp.MustCompile(`export TEMPER_API_URL=(\S+)`).FindStringSubmatch(f.said)
		select {
		case <-ended:
			return true
		default:
			return api != nil
		}
	}, startWithin, look)
	require.NotNil(f.t, api, "it ended: %s", f.said)
	f.env["API"] = api[1]
	rack := regexp.MustCompile(`rack +http://(\S+)/servers`).FindStringSubmatch(f.said)
	require.NotNil(f.t, rack, f.said)
	f.rack = rack[1]
}

// fill replaces the placeholders of a command.
func (f *follower) fill(section, command string) string {
	f.t.Helper()
	command = strings.ReplaceAll(command, "http://127.0.0.1:PORT", f.env["API"])
	if strings.Contains(section, "Enrol") {
		command = f.fillServer(command)
	}
	command = strings.ReplaceAll(command, "http://RACK", "http://"+f.rack)
	if strings.Contains(command, "PID-OF-THAT-CONDUCTOR") {
		command = strings.ReplaceAll(command, "PID-OF-THAT-CONDUCTOR", strconv.Itoa(f.conductor()))
	}
	if regexp.MustCompile(`\bID\b`).MatchString(command) {
		id := regexp.MustCompile(`(?i)operation (\d+)`).FindStringSubmatch(f.said)
		require.NotNil(f.t, id, "no operation was named in %s", f.said)
		command = regexp.MustCompile(`\bID\b`).ReplaceAllString(command, id[1])
	}
	return command
}

// conductor returns the process, by dev.json, of the conductor that the output of the last command names.
func (f *follower) conductor() int {
	f.t.Helper()
	name := regexp.MustCompile(`conductor-\d+`).FindAllString(f.said, -1)
	require.NotEmpty(f.t, name, "no conductor was named in %s", f.said)
	s, err := stack.Attach(filepath.Join(f.dir, ".temper/dev"))
	require.NoError(f.t, err)
	p, err := s.Process(name[len(name)-1])
	require.NoError(f.t, err)
	return p.PID
}

// fillServer replaces the address of the real server by that of a simulated server that is not enrolled.
func (f *follower) fillServer(command string) string {
	f.t.Helper()
	if f.server.Address == "" {
		f.server = f.realServer()
	}
	images := f.server.Address[:strings.Index(f.server.Address[len("http://"):], "/")+len("http://")] + "/images/deploy.iso"
	return strings.NewReplacer(
		`"redfish_password": "..."`, `"redfish_password": `+strconv.Quote(f.server.Password),
		"https://10.0.0.1", f.server.Address, "redfish_username=admin", "redfish_username="+f.server.Username,
		"redfish_password=-", "redfish_password=- <<< "+strconv.Quote(f.server.Password),
		"--username admin", "--username "+f.server.Username+" --password-file - <<< "+strconv.Quote(f.server.Password),
		"http://IMAGES/ipa.iso", images, "52:54:00:00:00:01", f.server.MACs[0],
	).Replace(command)
}

// realServer starts a rack of one server.
func (f *follower) realServer() stack.Server {
	f.t.Helper()
	p, err := dev.Command{
		Path: filepath.Join(f.dir, "bin/temper"), Env: f.environ(), LogFile: filepath.Join(f.dir, "rack.log"), ReadyFile: filepath.Join(f.dir, "rack.json"),
		Args: []string{"rack", "--servers", "1", "--seed", "4711", "--api-url", f.env["API"], "--ready-file", filepath.Join(f.dir, "rack.json")},
	}.Run(f.t.Context())
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(f.t, p.Stop(ctx))
	})
	servers, err := (&stack.Stack{RackURL: p.URL()}).Servers(f.t.Context())
	require.NoError(f.t, err)
	require.Len(f.t, servers, 1)
	return servers[0]
}

// run runs a command in a shell. An error in an answer fails the test, too.
func (f *follower) run(command string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), lineWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail; curl() { command curl --fail-with-body -sS \"$@\"; }\n"+command+"\nenv -0 > "+filepath.Join(f.dir, "env"))
	cmd.Dir, cmd.Env = f.dir, f.environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(f.t, cmd.Run(), "%s\n%s", command, &out)
	f.said += out.String()
	f.t.Log(out.String())
	env, err := os.ReadFile(filepath.Join(f.dir, "env"))
	require.NoError(f.t, err)
	for pair := range strings.SplitSeq(string(env), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok && (strings.HasPrefix(name, "TEMPER_") || strings.HasPrefix(name, "OS_")) {
			f.env[name] = value
		}
	}
}

// asBaremetal sends the requests of the baremetal client if that is not installed.
func (f *follower) asBaremetal(command string) {
	f.t.Helper()
	require.Equal(f.t, "none", f.env["OS_AUTH_TYPE"])
	words := strings.Fields(command)
	require.GreaterOrEqual(f.t, len(words), 3, command)
	require.Equal(f.t, "node", words[1])
	path := map[string]string{"list": "/v1/nodes", "show": "/v1/nodes/"}[words[2]]
	require.NotEmpty(f.t, path, "what does the stock client ask for %q?", command)
	if words[2] == "show" {
		path += words[3]
	}
	var answer json.RawMessage
	require.NoError(f.t, (&stack.Stack{APIURL: f.env["OS_ENDPOINT"]}).Call(f.t.Context(), http.MethodGet, path, nil, &answer))
	require.Contains(f.t, string(answer), "sim-0001")
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// environ returns the environment with what was exported so far.
func (f *follower) environ() []string {
	env := stack.Environ()
	for name, value := range f.env {
		env = append(env, name+"="+value)
	}
	return env
}
