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
	var made struct{ UUID string }
	n.call(http.MethodPost, "/v1/nodes", map[string]any{
		"name": n.name, "driver": "redfish", "resource_class": "baremetal", "conductor_group": group, "automated_clean": false,
		"driver_info": map[string]any{
			"redfish_address": sv.Address, "redfish_system_id": sv.System, "redfish_username": sv.Username,
			"redfish_password": sv.Password, "redfish_verify_ca": sv.VerifyCA, "deploy_iso": l.RackURL + "/images/deploy.iso",
		},
		"instance_info": map[string]any{
			"image_source": l.RackURL + "/images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": l.digest, "image_disk_format": "raw",
		},
	}, &made)
	n.uuid = made.UUID
	for _, mac := range sv.MACs {
		n.call(http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n.uuid, "address": mac}, nil)
	}
	n.provision("manage")
	n.await("manageable")
	n.provision("provide")
	n.await("available")
	return n
}

// secondDrive returns the serial number of the second drive of a server of smallDisks, which somebody would read in the setup of its firmware.
func (n *node) secondDrive() string {
	var i int
	_, err := fmt.Sscanf(n.server.Name, "sim-%d", &i)
	require.NoError(n.t, err)
	return machine.NewHardware(smallSeed, i-1, 0).Drives[1].Serial
}

func (n *node) call(method, path string, body, out any) {
	n.t.Helper()
	require.NoError(n.t, n.l.Call(n.t.Context(), method, path, body, out))
}

func (n *node) provision(verb string) {
	n.t.Helper()
	n.call(http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision", map[string]any{"target": verb}, nil)
}

func (n *node) set(path string, value any) {
	n.t.Helper()
	n.call(http.MethodPatch, "/v1/nodes/"+n.uuid, []map[string]any{{"op": "add", "path": path, "value": value}}, nil)
}

func (n *node) spoil(faults ...map[string]any) {
	n.t.Helper()
	require.NoError(n.t, n.l.Spoil(n.t.Context(), n.server.Name, faults))
}

func (n *node) state() (string, error) {
	var now struct {
		State string `json:"provision_state"`
	}
	err := n.l.Call(n.t.Context(), http.MethodGet, "/v1/nodes/"+n.uuid, nil, &now)
	return now.State, err
}

func (n *node) await(state string) {
	n.t.Helper()
	eventually(n.t, func() error {
		now, err := n.state()
		if err == nil && now != state {
			err = fmt.Errorf("node %s is %q, not %q", n.name, now, state)
		}
		return err
	})
}

// deploy asks for a deploy with the command line, and returns the id of its operation.
func (n *node) deploy(onFailure string) (operation string) {
	n.t.Helper()
	code, out := n.l.run(n.t, "temper node deploy "+n.name+" --on-failure "+onFailure+" -o json")
	require.Zero(n.t, code, out)
	return regexp.MustCompile(`"id": "(\d+)"`).FindStringSubmatch(out)[1]
}

// operation is an operation as the API shows it.
type operation struct {
	State, Outcome, Cause, Error string
}

func (n *node) operation(id string) (o operation, err error) {
	return o, n.l.Call(n.t.Context(), http.MethodGet, "/temper/v1/operations/"+id, nil, &o)
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
	n.call(http.MethodGet, "/temper/v1/nodes/"+n.uuid+"/why", nil, &w)
	code, text := n.l.run(n.t, "temper node why "+n.name)
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
	cmd.Env = append(os.Environ(), "PATH="+l.bin+":"+os.Getenv("PATH"), "TEMPER_API_URL="+l.APIURL)
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

// eventually waits until look returns nil.
func eventually(t *testing.T, cond func() error) {
	t.Helper()
	tick := time.NewTicker(look)
	defer tick.Stop()
	deadline := time.Now().Add(patience)
	for {
		err := cond()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", patience, err)
		}
		<-tick.C
	}
}
