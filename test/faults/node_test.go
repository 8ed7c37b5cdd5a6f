package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/test/stack"
)

// node is a server of the rack that one case has, enrolled and ready to be deployed.
type node struct {
	t      *testing.T
	l      *lab
	name   string
	uuid   string
	server stack.Server
	typed  string // what somebody types who is asked
}

// available returns a node that can be deployed with the rack's image.
func (l *lab) available(t *testing.T, group string) *node {
	t.Helper()
	sv, err := l.Server(t.Context(), l.take(t))
	require.NoError(t, err)
	n := &node{t: t, l: l, server: sv, name: strings.ToLower(fmt.Sprintf("n-%s-%d", sv.Name, time.Now().UnixNano()))}
	made, err := l.Enroll(t.Context(), sv, map[string]any{
		"name": n.name, "conductor_group": group, "automated_clean": false, "instance_info": l.Image(l.digest),
	})
	require.NoError(t, err)
	n.uuid = made.UUID
	for _, step := range [][2]string{{"manage", "manageable"}, {"provide", "available"}} {
		require.NoError(t, l.Provision(t.Context(), n.uuid, step[0]))
		n.await(step[1])
	}
	return n
}

// secondDrive returns the serial number of the second drive of a server of smallDisks, which somebody would read in the setup of its firmware.
func (n *node) secondDrive() string {
	var i int
	_, err := fmt.Sscanf(n.server.Name, "sim-%d", &i)
	require.NoError(n.t, err)
	return machine.NewHardware(smallSeed, i-1, 0).Drives[1].Serial
}

func (n *node) set(field string, value any) {
	n.t.Helper()
	require.NoError(n.t, n.l.Set(n.t.Context(), n.uuid, map[string]any{field: value}))
}

func (n *node) spoil(faults ...map[string]any) {
	n.t.Helper()
	require.NoError(n.t, n.l.Spoil(n.t.Context(), n.server.Name, faults))
}

func (n *node) await(state string) {
	n.t.Helper()
	require.NoError(n.t, n.l.AwaitNode(n.t.Context(), n.uuid, state, patience))
}

// deploy asks for a deploy with the command line, and returns the id of its operation.
func (n *node) deploy(onFailure string) (operation string) {
	n.t.Helper()
	code, out := n.l.run(n.t, "temper node deploy "+n.name+" --on-failure "+onFailure+" -o json")
	require.Zero(n.t, code, out)
	return regexp.MustCompile(`"id": "(\d+)"`).FindStringSubmatch(out)[1]
}

// why is what GET /temper/v1/nodes/NODE/why tells.
type why struct {
	Cause    *string
	Sentence string
	Since    time.Time
	Text     string
	Help     []struct{ Command, Effect, Method, Path string }
}

// why asks the API and the command line. It fails unless both tell the same.
func (n *node) why() (w why, text string) {
	n.t.Helper()
	require.NoError(n.t, n.l.Call(n.t.Context(), http.MethodGet, "/temper/v1/nodes/"+n.uuid+"/why", nil, &w))
	code, text := n.l.run(n.t, "temper node why --long "+n.name)
	require.Zero(n.t, code, text)
	return w, strings.TrimSuffix(text, "\n")
}

// run runs a command line as somebody does who copies it to a shell.
func (l *lab) run(t *testing.T, command string) (code int, output string) {
	t.Helper()
	return l.runTyping(t, command, "")
}

// runTyping is run by somebody who types a line when the command asks for one.
func (l *lab) runTyping(t *testing.T, command, typed string) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Env = stack.Environ("PATH="+l.bin+":"+os.Getenv("PATH"), "TEMPER_API_URL="+l.APIURL)
	if typed != "" { // temper bmc probe asks for the password only in a terminal
		cmd.Env = append(cmd.Env, "TEMPER_BMC_PASSWORD="+typed)
	}
	var out bytes.Buffer
	cmd.Stdin = strings.NewReader(typed + "\n")
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return cmd.ProcessState.ExitCode(), out.String()
}

// eventually waits until cond returns nil.
func eventually(t *testing.T, cond func() error) {
	t.Helper()
	stack.Eventually(t, patience, cond)
}
