package pictures

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	program  = flag.String("temper", "../../bin/temper", "the program, with temporal-dev beside it")
	existing = flag.String("data", "", "the folder of a `temper dev` that runs already; default: one is started")
)

// settings make the hardware fast, and a step that lasts long enough to be looked at.
const settings = `
reconcile_interval: 3s
power_timeout: 10m
rack_power_delay: 100ms
rack_boot_delay: 200ms
rack_step_delay: 200ms
`

const ready = 3 * time.Minute

// stack is a running `temper dev`.
type stack struct {
	t        *testing.T
	API      string `json:"api_url"`
	UI       string `json:"temporal_ui_url"`
	Rack     string `json:"rack_url"`
	checksum string
}

// startStack starts `temper dev`, which ends with the test.
func startStack(t *testing.T) *stack {
	t.Helper()
	data := *existing
	if data == "" {
		data = launch(t)
	}
	s := &stack{t: t}
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(filepath.Join(data, "dev.json"))
		return err == nil && json.Unmarshal(b, s) == nil && s.UI != ""
	}, ready, poll, "temper dev is not ready; its log is in %s", data)
	s.checksum, _, _ = strings.Cut(string(s.ask(http.MethodGet, s.Rack+"/images/disk.raw.sha256", nil)), " ")
	return s
}

func launch(t *testing.T) (data string) {
	t.Helper()
	if _, err := os.Stat(*program); err != nil {
		t.Skipf("the program is not built (make build): %v", err)
	}
	dir, err := os.MkdirTemp("", "temper-pictures-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755)) // PostgreSQL is another user where root runs the test
	conf := filepath.Join(dir, "settings.yaml")
	require.NoError(t, os.WriteFile(conf, []byte(settings), 0o600))
	log, err := os.Create(filepath.Join(dir, "dev.log"))
	require.NoError(t, err)
	data = filepath.Join(dir, "data")
	dev := exec.Command(*program, "dev", "--data", data, "--config", conf, "--listen", "127.0.0.1:0", "--nodes", "8", "--conductors", "2", "--drivers", "redfish")
	dev.Stdout, dev.Stderr = log, log
	require.NoError(t, dev.Start())
	t.Cleanup(func() {
		require.NoError(t, dev.Process.Signal(syscall.SIGTERM))
		_ = dev.Wait() // it has the exit code of whatever ended it
		_ = log.Close()
		if !t.Failed() {
			require.NoError(t, os.RemoveAll(dir))
		}
	})
	return data
}

// ask sends a request, with a body in JSON unless that is nil, and returns the body of an answer that is no error.
func (s *stack) ask(method, address string, body any) []byte {
	s.t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		require.NoError(s.t, err)
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, address, r)
	require.NoError(s.t, err)
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.114")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Less(s.t, res.StatusCode, 300, "%s %s: %.500s", method, address, b)
	return b
}

func (s *stack) read(path string, into any) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal(s.ask(http.MethodGet, s.API+path, nil), into))
}

// operation is an operation as Temper's API shows it.
type operation struct {
	ID         string  `json:"id"`
	State      string  `json:"state"`
	Outcome    string  `json:"outcome"`
	Cause      string  `json:"cause"`
	Conductor  string  `json:"conductor"`
	WorkflowID string  `json:"workflow_id"`
	RunID      string  `json:"run_id"`
	RetryOf    *string `json:"retry_of"`
	Decisions  []struct {
		By     string `json:"by"`
		Action string `json:"action"`
		Reason string `json:"reason"`
	} `json:"decisions"`
	Steps []struct {
		State string `json:"state"`
	} `json:"steps"`
}

// page is the path of the operation's workflow in Temporal's UI.
func (o operation) page(tab string) string {
	return "/namespaces/temper/workflows/" + url.PathEscape(o.WorkflowID) + "/" + o.RunID + "/" + tab
}

// newest returns the newest operation of a node.
func (s *stack) newest(node string) operation {
	s.t.Helper()
	var list struct {
		Operations []operation `json:"operations"`
	}
	s.read("/temper/v1/operations?limit=1&node="+node, &list)
	require.NotEmpty(s.t, list.Operations, "of node %s", node)
	return s.operation(list.Operations[0].ID)
}

func (s *stack) operation(id string) (o operation) {
	s.t.Helper()
	s.read("/temper/v1/operations/"+id, &o)
	return o
}

// until waits for a state of a node's newest operation.
func (s *stack) until(node, what string, good func(operation) bool) (o operation) {
	s.t.Helper()
	s.wait(func() bool { o = s.newest(node); return good(o) }, "the operation of %s is not %s", node, what)
	return o
}

// wait waits until good reports true. It calls good in the test's own goroutine, which may end the test.
func (s *stack) wait(good func() bool, format string, args ...any) {
	s.t.Helper()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for late := time.After(patience); ; {
		if good() {
			return
		}
		select {
		case <-late:
			require.FailNowf(s.t, "it took too long", format, args...)
		case <-tick.C:
		}
	}
}

func (s *stack) verb(node, verb, query string) {
	s.t.Helper()
	s.ask(http.MethodPut, s.API+"/v1/nodes/"+node+"/states/provision"+query, map[string]any{"target": verb})
}

// reach waits until nodes are in a provision state.
func (s *stack) reach(state string, nodes ...string) {
	s.t.Helper()
	for _, name := range nodes {
		s.wait(func() bool { return s.state(name) == state }, "%s is not %s", name, state)
	}
}

// state returns a node's provision state.
func (s *stack) state(node string) string {
	s.t.Helper()
	var n struct {
		State string `json:"provision_state"`
	}
	s.read("/v1/nodes/"+node+"?fields=provision_state", &n)
	return n.State
}

// image makes a node deploy the rack's image, checked by a sha256.
func (s *stack) image(node, sum string) {
	s.t.Helper()
	s.ask(http.MethodPatch, s.API+"/v1/nodes/"+node, []map[string]any{{"op": "replace", "path": "/instance_info", "value": map[string]any{
		"image_source": s.Rack + "/images/disk.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": sum, "image_disk_format": "raw",
	}}})
}

// spoil sets the faults of a node's server, which has the node's name.
func (s *stack) spoil(node string, faults ...map[string]any) {
	s.t.Helper()
	s.ask(http.MethodPut, fmt.Sprintf("%s/servers/%s/faults", s.Rack, node), map[string]any{"faults": append([]map[string]any{}, faults...)})
}
