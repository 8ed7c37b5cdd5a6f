package system_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// temporal returns a client of the stack's Temporal.
func (s *stack) temporal(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.TemporalAddress, Namespace: s.TemporalNamespace, Logger: quiet{},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// quiet is a logger for the SDK that writes nothing.
type quiet struct{}

var _ sdklog.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// cancels are the ways to end an operation from outside.
func cancels(t *testing.T, s *stack) map[string]func(*node, string) {
	c := s.temporal(t)
	return map[string]func(*node, string){
		"by its number": (*node).cancel,
		"in Temporal": func(n *node, id string) {
			n.t.Helper()
			o, err := n.operation(id)
			require.NoError(n.t, err)
			eventually(n.t, patience, func() error { return c.CancelWorkflow(n.t.Context(), o.WorkflowID, "") })
		},
	}
}

func TestACancelledDeployLeavesTheServerClean(t *testing.T) {
	t.Parallel()
	s := world(t)
	for moment, c := range map[string]struct {
		faults []fault
		slow   bool // the image
		until  func(n *node, id string, l *library)
	}{
		"before it has begun": {until: func(*node, string, *library) {}},
		"while the server is switched on": {
			faults: []fault{{Kind: "slow_power", Delay: "2s", Count: 1}},
			until:  func(n *node, _ string, _ *library) { n.sent(1) },
		},
		"while the BMC is silent": {
			faults: []fault{{Kind: "hang", Method: "POST", Path: insert, Count: 3}},
			until:  func(n *node, _ string, _ *library) { n.struckSome(3) },
		},
		"while the agent is waited for": {
			faults: []fault{{Kind: "no_agent"}},
			until:  func(n *node, _ string, _ *library) { n.await("wait call-back") },
		},
		"while the image is written": {
			slow:  true,
			until: func(n *node, _ string, l *library) { n.writing(l) },
		},
		"while the agent switches off": {
			faults: []fault{{Kind: "reset", Command: "power_off"}},
			until:  func(n *node, id string, _ *library) { n.running(id, "tear_down_agent") },
		},
		"while the disk is booted": {
			faults: []fault{{Kind: "slow_power", Delay: "50ms", Count: 1}, {Kind: "slow_power", Delay: "3s", Count: 1}},
			until:  func(n *node, id string, _ *library) { n.running(id, "boot_instance"); n.sent(3) },
		},
	} {
		for how, cancel := range cancels(t, s) {
			t.Run(moment+", "+how, func(t *testing.T) {
				t.Parallel()
				l := newLibrary(t, nil)
				n := available(t, s, s.rack.of(standard))
				file := "/good.raw"
				if c.slow {
					file = "/slow.raw"
				}
				n.image(l.url+file, l.sha256)
				n.spoil(c.faults...)
				id := n.provision("active", nil)
				c.until(n, id, l)
				cancel(n, id)
				now := n.cancelled(id, "deploy failed")
				n.leftByDeploy(now)
				require.Contains(t, text(now.LastError), "By request")
				a := s.must(t, http.StatusConflict, http.MethodPost, "/temper/v1/operations/"+id+"/cancel", map[string]any{})
				require.Contains(t, a.Words(), "has ended already")

				n.spoil()
				n.image(l.url+"/good.raw", l.sha256)
				n.deployed(n.provision("active", nil), l.sha256)
			})
		}
	}
}

// sent waits until the server has received so many power requests.
func (n *node) sent(actions int) {
	n.t.Helper()
	catches(n.t, patience, func() error {
		sv, err := n.r.read(n.server)
		if err == nil && len(sv.Actions) < actions {
			err = fmt.Errorf("only %v", sv.Actions)
		}
		return err
	})
}

// struckSome waits until the server's only fault, set to strike so many times, has struck once.
func (n *node) struckSome(count int) {
	n.t.Helper()
	catches(n.t, patience, func() error {
		var l struct {
			Faults []fault `json:"faults"`
		}
		a, err := request(http.MethodGet, n.r.url+"/servers/"+n.server+"/faults", nil, nil)
		if err == nil {
			err = a.Decode(&l)
		}
		if err == nil && len(l.Faults) == 1 && l.Faults[0].Count == count {
			err = fmt.Errorf("%v did not strike", l.Faults)
		}
		return err
	})
}

func TestWhateverIsCancelledEndsWhereItsFailureEnds(t *testing.T) {
	t.Parallel()
	s := world(t)
	hang := []fault{{Kind: "hang", Path: system, Count: 5}}
	for what, c := range map[string]struct {
		faults []fault
		begin  func(*node) string
		until  func(*node, string)
		state  string
	}{
		"a verification": {
			faults: hang, begin: func(n *node) string { return n.provision("manage", nil) },
			until: func(n *node, id string) { n.running(id, "verify"); n.struckSome(5) }, state: "enroll",
		},
		"a cleaning": {
			begin: func(n *node) string { n.verified(); return n.provision("clean", cleanSteps("burnin_cpu")) },
			until: func(n *node, id string) { n.running(id, "burnin_cpu") }, state: "clean failed",
		},
		"an inspection out of band": {
			begin: func(n *node) string { n.verified(); n.spoil(hang...); return n.provision("inspect", nil) },
			until: func(n *node, id string) { n.running(id, "inspect_hardware"); n.struckSome(5) }, state: "inspect failed",
		},
		"an inspection in band": {
			begin: func(n *node) string {
				n.verified()
				n.spoil(fault{Kind: "no_agent"})
				n.patch("inspect_interface", "agent")
				return n.provision("inspect", nil)
			},
			until: func(n *node, _ string) { n.await("inspect wait") }, state: "inspect failed",
		},
		"a power request": {
			begin: func(n *node) string {
				n.verified()
				n.spoil(fault{Kind: "lost_power"})
				return n.power("power on")
			},
			until: func(n *node, _ string) { n.sent(1) }, state: "manageable",
		},
		"a node that is given back": {
			begin: func(n *node) string {
				n.verified()
				n.patch("automated_clean", false)
				n.done(n.provision("provide", nil), "available")
				n.image(s.rack.url+"/images/disk.raw", digest(n.t, s.rack))
				n.deployed(n.provision("active", nil), digest(n.t, s.rack))
				n.patch("automated_clean", true)
				n.spoil(fault{Kind: "no_agent"})
				return n.provision("deleted", nil)
			},
			until: func(n *node, _ string) { n.await("clean wait") }, state: "clean failed",
		},
	} {
		for how, cancel := range cancels(t, s) {
			t.Run(what+", "+how, func(t *testing.T) {
				t.Parallel()
				n := enroll(t, s, s.rack)
				n.spoil(c.faults...)
				id := c.begin(n)
				c.until(n, id)
				cancel(n, id)
				now := n.cancelled(id, c.state)
				require.False(t, now.Maintenance, "nothing is wrong with the node")
				require.NoError(t, n.hardware().clean())
			})
		}
	}
}

func (n *node) verified() {
	n.t.Helper()
	n.done(n.provision("manage", nil), "manageable")
}

// A workflow that is terminated runs no code: reconciliation ends its operation when nothing of it can act any more, and
// has undone right after what it left half done.
func TestATerminatedWorkflowLeavesNoStuckNode(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "no_agent"})
	id := n.provision("active", nil)
	n.await("wait call-back")
	o, err := n.operation(id)
	require.NoError(t, err)
	require.NoError(t, s.temporal(t).TerminateWorkflow(t.Context(), o.WorkflowID, "", "somebody pressed the button"))
	require.Equal(t, "failed", text(n.over(id).Outcome))
	now := n.undone()
	n.free(now)
	require.Equal(t, "deploy failed", now.State)
	require.Equal(t, "active", text(now.Target))
	require.Contains(t, text(now.LastError), "terminated", "the undo does not hide why the deploy failed")
	require.Nil(t, now.Internal["temper_owed"])
	n.leftByDeploy(now)

	n.spoil()
	before := len(n.hardware().Actions)
	n.deployed(n.provision("active", nil), digest(t, s.rack))
	require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions[before:]))
}

// undone waits until an undo operation has undone what the node's last operation left.
func (n *node) undone() shown {
	n.t.Helper()
	var all struct {
		Operations []operation `json:"operations"`
	}
	eventually(n.t, patience, func() error {
		err := n.s.read("/temper/v1/operations?kind=undo&limit=1&node="+n.uuid, &all)
		if err == nil && (len(all.Operations) == 0 || text(all.Operations[0].Outcome) != "succeeded") {
			err = fmt.Errorf("no undo has succeeded: %v", all.Operations)
		}
		return err
	})
	return n.now()
}
