package system_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// operation is an operation as the API shows it.
type operation struct {
	ID         string  `json:"id"`
	Node       string  `json:"node_uuid"`
	Kind       string  `json:"kind"`
	State      string  `json:"state"`
	Outcome    *string `json:"outcome"`
	Error      *string `json:"error"`
	Cause      *string `json:"cause"`
	Conductor  *string `json:"conductor"`
	WaitingFor *string `json:"waiting_for"`
	Until      *string `json:"waiting_until"`
	Asked      *string `json:"asked"`
	WorkflowID string  `json:"workflow_id"`
	RunID      *string `json:"run_id"`
	Steps      []step  `json:"steps"`
}

type step struct {
	Interface string  `json:"interface"`
	Step      string  `json:"step"`
	State     string  `json:"state"`
	Attempts  int     `json:"attempts"`
	Failures  int     `json:"failures"`
	Conductor *string `json:"conductor"`
	LastError *string `json:"last_error"`
	Note      *string `json:"note"`
}

func (o operation) String() string {
	var steps []string
	for _, s := range o.Steps {
		steps = append(steps, fmt.Sprintf("%s.%s %s (%d) %s", s.Interface, s.Step, s.State, s.Attempts, text(s.LastError)))
	}
	return fmt.Sprintf("operation %s (%s) is %s, outcome %s, error %s; %s",
		o.ID, o.Kind, o.State, text(o.Outcome), text(o.Error), strings.Join(steps, "; "))
}

// step returns a step of the operation by its name; ok is false if it has none.
func (o operation) step(name string) (step, bool) {
	for _, s := range o.Steps {
		if s.Step == name {
			return s, true
		}
	}
	return step{}, false
}

func (n *node) operation(id string) (operation, error) {
	var o operation
	return o, n.s.read("/temper/v1/operations/"+id, &o)
}

// moment is an entry of an operation's timeline.
type moment struct{ What, Step, Conductor, Former, Text string }

// timeline returns what happened to an operation.
func (n *node) timeline(id string) []moment {
	n.t.Helper()
	var answer struct{ Timeline []moment }
	require.NoError(n.t, n.s.read("/temper/v1/operations/"+id+"/timeline", &answer))
	return answer.Timeline
}

// over waits for the end of an operation.
func (n *node) over(id string) operation {
	n.t.Helper()
	var last operation
	eventually(n.t, n.patience(), func() error {
		o, err := n.operation(id)
		if err != nil {
			return err
		}
		if o.State != "ended" {
			return fmt.Errorf("%s", o)
		}
		last = o
		return nil
	})
	return last
}

// running waits until a step of an operation has begun.
func (n *node) running(id, name string) {
	n.t.Helper()
	catches(n.t, patience, func() error {
		o, err := n.operation(id)
		if err != nil {
			return err
		}
		if s, ok := o.step(name); !ok || s.State != "running" {
			return fmt.Errorf("step %s does not run: %s", name, o)
		}
		return nil
	})
}

// patience is how long to wait for an operation: longer for a machine whose every instruction is simulated.
func (n *node) patience() time.Duration {
	if n.virtual {
		return 3 * patience
	}
	return patience
}

// done waits for an operation to succeed. The node must be in the state, and nothing may be left of the operation.
func (n *node) done(id, state string) shown {
	n.t.Helper()
	o := n.over(id)
	require.Equal(n.t, "succeeded", text(o.Outcome), "%s", o)
	now := n.now()
	require.Equal(n.t, state, now.State)
	require.Nil(n.t, now.LastError)
	require.Nil(n.t, now.Target)
	n.free(now)
	return now
}

// failed waits for an operation to fail. The node must be in the failed state of the life cycle, its last_error and the
// operation's error must say what was wrong, and the operation must have a cause.
func (n *node) failed(id, state string, words ...string) shown {
	n.t.Helper()
	o := n.over(id)
	require.Equal(n.t, "failed", text(o.Outcome), "%s", o)
	now := n.now()
	require.Equal(n.t, state, now.State, "%s", o)
	require.NotEmpty(n.t, text(o.Cause))
	for _, w := range words {
		require.Contains(n.t, text(now.LastError), w)
		require.Contains(n.t, text(o.Error), w)
	}
	n.free(now)
	return now
}

// cancelled waits for an operation to end as cancelled.
func (n *node) cancelled(id, state string) shown {
	n.t.Helper()
	o := n.over(id)
	require.Equal(n.t, "cancelled", text(o.Outcome), "%s", o)
	now := n.now()
	require.Equal(n.t, state, now.State, "%s", o)
	n.free(now)
	return now
}

// free checks that the node has no reservation and no open operation.
func (n *node) free(now shown) {
	n.t.Helper()
	require.Nil(n.t, now.Reservation)
	require.Nil(n.t, now.TargetPower)
	var open struct {
		Operations []operation `json:"operations"`
	}
	require.NoError(n.t, n.s.read("/temper/v1/operations?node="+n.uuid, &open))
	for _, o := range open.Operations {
		require.Equal(n.t, "ended", o.State, "%s", o)
	}
}

// deployFailed is failed for a deploy, which must leave exactly what Ironic leaves.
func (n *node) deployFailed(id string, words ...string) shown {
	n.t.Helper()
	now := n.failed(id, "deploy failed", words...)
	n.leftByDeploy(now)
	return now
}

// leftByDeploy checks what a deploy that did not succeed leaves: powered off, no medium, no agent, and the target and
// instance_info as they were.
func (n *node) leftByDeploy(now shown) {
	n.t.Helper()
	require.Equal(n.t, "active", text(now.Target))
	require.NotEmpty(n.t, now.InstanceInfo["image_source"])
	require.NotContains(n.t, now.Internal, "agent_url")
	require.Empty(n.t, now.DeployStep)
	require.Equal(n.t, "power off", text(now.Power))
	require.NoError(n.t, n.hardware().clean())
}

// deployed is done for a deploy: the server must be on, booted from a disk with the image.
func (n *node) deployed(id, sha256 string) shown {
	n.t.Helper()
	now := n.done(id, "active")
	require.Equal(n.t, "power on", text(now.Power))
	require.NotContains(n.t, now.Internal, "agent_url")
	var sv server
	eventually(n.t, patience, func() error {
		var err error
		if sv, err = n.r.read(n.server); err == nil && sv.BootedFrom == "" {
			err = fmt.Errorf("%s has not booted", sv.Name)
		}
		return err
	})
	require.Equal(n.t, "disk", sv.BootedFrom)
	require.Equal(n.t, sha256, sv.DiskSHA256)
	require.Empty(n.t, sv.Media)
	require.Empty(n.t, sv.BootOverride)
	return now
}

// cancel cancels an operation by its id.
func (n *node) cancel(id string) {
	n.t.Helper()
	n.s.must(n.t, http.StatusAccepted, http.MethodPost, "/temper/v1/operations/"+id+"/cancel", map[string]any{"reason": "a test says so"})
}
