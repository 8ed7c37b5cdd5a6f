package pictures

import (
	"flag"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/stack"
)

var existing = flag.String("data", "", "the data folder of a `temper dev` that runs already; default: one is started")

// settings make the hardware fast, and a step that lasts long enough to be looked at.
const settings = `
reconcile_interval: 3s
power_timeout: 10m
rack_power_delay: 100ms
rack_boot_delay: 200ms
rack_step_delay: 200ms
`

// startStack starts `temper dev`, which ends with the test.
func startStack(t *testing.T) *stack.Stack {
	t.Helper()
	if *existing == "" {
		return stack.Config{Settings: settings, Args: []string{"--nodes", "8", "--conductors", "2", "--drivers", "redfish"}}.For(t)
	}
	s, err := stack.Attach(*existing)
	require.NoError(t, err)
	return s
}

// page is the path of an operation's workflow in Temporal's UI.
func page(o stack.Operation, tab string) string {
	return "/namespaces/temper/workflows/" + url.PathEscape(o.WorkflowID) + "/" + o.RunID + "/" + tab
}

// newest returns the newest operation of a node.
func (w *tour) newest(node string) stack.Operation {
	w.t.Helper()
	o, err := w.Newest(w.t.Context(), node)
	require.NoError(w.t, err)
	return o
}

// until waits for a state of a node's newest operation.
func (w *tour) until(node, what string, good func(stack.Operation) bool) stack.Operation {
	w.t.Helper()
	o, err := w.AwaitOperation(w.t.Context(), node, what, patience, good)
	require.NoError(w.t, err)
	return o
}

func (w *tour) verb(node, verb, query string) {
	w.t.Helper()
	require.NoError(w.t, w.Call(w.t.Context(), http.MethodPut, "/v1/nodes/"+node+"/states/provision"+query, map[string]any{"target": verb}, nil))
}

// reach waits until nodes are in a provision state.
func (w *tour) reach(state string, nodes ...string) {
	w.t.Helper()
	for _, name := range nodes {
		require.NoError(w.t, w.AwaitNode(w.t.Context(), name, state, patience))
	}
}

// state returns a node's provision state.
func (w *tour) state(node string) string {
	w.t.Helper()
	n, err := w.Show(w.t.Context(), node)
	require.NoError(w.t, err)
	return n.State
}

// image makes a node deploy the rack's image, checked by a sha256.
func (w *tour) image(node, digest string) {
	w.t.Helper()
	require.NoError(w.t, w.SetImage(w.t.Context(), node, digest))
}

// spoil sets the faults of a node's server, which has the node's name.
func (w *tour) spoil(node string, faults ...map[string]any) {
	w.t.Helper()
	require.NoError(w.t, w.Spoil(w.t.Context(), node, faults))
}
