package system_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"go.temper.dev/temper/internal/dev"
)

// How long it takes until a node whose owner is gone may be released, and until it must be.
const (
	runIsOver  = 5*time.Second + 2*time.Second // heartbeat_timeout, and bmc_request_timeout of a request that was under way
	stepIsOver = 5 * time.Second               // heartbeat_timeout: Temporal gives its step to another one
	startsSelf = 2 * time.Second               // the API may still start the workflow of a request that it accepted
	waitsFor3s = 3 * time.Second               // wait_for_conductor of the groups orphan-gone and orphan-forgotten
	released   = 10 * time.Second              // the promised time, counted from then on
)

// transient is a way to bring a node into a transient state and keep it there.
type transient struct {
	prepare func(n *node)
	faults  []fault
	verb    string
	end     string // the state in which it ends when nothing works on it any more
	passive bool   // it waits, and no step runs
}

var (
	silent  = []fault{{Kind: "hang"}}
	noAgent = []fault{{Kind: "no_agent"}}
	noMedia = []fault{{Kind: "hang", Method: "POST", Path: insert}}
)

func (n *node) ready() {
	n.verified()
	n.patch("automated_clean", false)
	n.done(n.provision("provide", nil), "available")
	n.image(n.r.url+"/images/disk.raw", digest(n.t, n.r))
}

var transients = map[string]transient{
	"verifying":  {prepare: func(*node) {}, faults: silent, verb: "manage", end: "enroll"},
	"inspecting": {prepare: (*node).verified, faults: silent, verb: "inspect", end: "inspect failed"},
	"inspect wait": {
		prepare: func(n *node) { n.verified(); n.patch("inspect_interface", "agent") },
		faults:  noAgent, verb: "inspect", end: "inspect failed", passive: true,
	},
	"deploying":      {prepare: (*node).ready, faults: noMedia, verb: "active", end: "deploy failed"},
	"wait call-back": {prepare: (*node).ready, faults: noAgent, verb: "active", end: "deploy failed", passive: true},
	"deleting": {
		prepare: func(n *node) { n.ready(); n.deployed(n.provision("active", nil), digest(n.t, n.r)) },
		faults:  silent, verb: "deleted", end: "error",
	},
	"cleaning":   {prepare: (*node).verified, faults: noMedia, verb: "provide", end: "clean failed"},
	"clean wait": {prepare: (*node).verified, faults: noAgent, verb: "provide", end: "clean failed", passive: true},
}

// alone is a node in a transient state whose operation is about to be left alone.
type alone struct {
	*node
	transient
	name string // of the state
	id   string
}

// leave brings one node of a group into each of the states.
func leave(t *testing.T, s *stack, group string, states ...string) []*alone {
	t.Helper()
	var all []*alone
	for _, name := range states {
		a := &alone{node: enroll(t, s, s.rack.of(standard)), transient: transients[name], name: name}
		a.prepare(a.node)
		a.patch("conductor_group", group)
		a.spoil(a.faults...)
		all = append(all, a)
	}
	for _, a := range all {
		a.id = a.provision(a.verb, nil)
	}
	for _, a := range all {
		catches(t, patience, func() error {
			o, err := a.operation(a.id)
			now, err2 := a.get()
			if err == nil && err2 == nil && (now.State != a.name || o.State != map[bool]string{false: "running", true: "waiting"}[a.passive]) {
				return fmt.Errorf("it is %s, not %s: %s", now.State, a.name, o)
			}
			return cmp.Or(err, err2)
		})
	}
	return all
}

// inTime waits until all of them are as they must be, and requires that each is so soon after that was safe.
func inTime(t *testing.T, safe time.Time, all []*alone, ok func(*alone) error) {
	t.Helper()
	left := append([]*alone{}, all...)
	eventually(t, time.Until(safe)+patience, func() error {
		var last error
		still := left[:0]
		for _, a := range left {
			if err := ok(a); err != nil {
				last, still = fmt.Errorf("%s: %w", a.name, err), append(still, a)
				continue
			}
			after := time.Since(safe)
			t.Logf("%s: %s after it was safe", a.name, after.Round(100*time.Millisecond))
			if after > released+slack {
				t.Errorf("%s: that is too late", a.name)
			}
		}
		left = still
		return last
	})
}

// ended returns an error unless the operation has failed, and its node is in its failed state and free.
func (a *alone) ended() error { return a.endedAs("failed") }

// aborted is like ended for an operation that has ended by request.
func (a *alone) aborted() error { return a.endedAs("cancelled") }

func (a *alone) endedAs(outcome string) error {
	now, err := a.get()
	if err == nil && (now.State != a.end || now.Reservation != nil) {
		err = fmt.Errorf("it is %s, held by %s", now.State, text(now.Reservation))
	}
	if err != nil {
		return err
	}
	o, err := a.operation(a.id)
	if err == nil && text(o.Outcome) != outcome {
		err = fmt.Errorf("%s", o)
	}
	return err
}

// on returns an error unless a conductor works on the operation. One that waits needs no conductor, and can be ended.
func (a *alone) on(conductor string) error {
	o, err := a.operation(a.id)
	switch {
	case err != nil:
		return err
	case !a.passive && text(o.Conductor) != conductor:
		return fmt.Errorf("%s has it: %s", text(o.Conductor), o)
	case a.passive && o.State == "waiting" && o.Asked == nil:
		a.cancel(a.id)
		return fmt.Errorf("it is asked to end")
	case a.passive && text(o.Outcome) != "cancelled":
		return fmt.Errorf("%s", o)
	}
	return nil
}

// Whatever becomes of its owner or of its workflow, no node stays held: it goes on elsewhere or ends in its failed state,
// in under ten seconds from when nothing of what was can act any more. test/orphans has every combination, against a Temporal
// that only remembers; here everything is real.
func TestANodeThatIsLeftAloneIsReleasedInTime(t *testing.T) {
	t.Parallel()
	s := world(t)
	type harm func(t *testing.T, group string, only *dev.Running, all []*alone)
	for name, c := range map[string]struct {
		states []string
		harm   harm
	}{
		"terminated": {
			[]string{"verifying", "inspect wait", "deploying", "wait call-back", "deleting", "cleaning"},
			func(t *testing.T, _ string, _ *dev.Running, all []*alone) {
				for _, a := range all {
					o, err := a.operation(a.id)
					require.NoError(t, err)
					require.NoError(t, s.temporal(t).TerminateWorkflow(t.Context(), o.WorkflowID, "", "a test says so"))
				}
				inTime(t, time.Now().Add(runIsOver), all, (*alone).ended)
			},
		},
		"lost": {
			[]string{"inspecting", "wait call-back", "cleaning", "clean wait"},
			func(t *testing.T, _ string, _ *dev.Running, all []*alone) {
				c := s.temporal(t)
				for _, a := range all {
					o, err := a.operation(a.id)
					require.NoError(t, err)
					_, err = c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
						Namespace: s.TemporalNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: o.WorkflowID, RunId: text(o.RunID)},
					})
					require.NoError(t, err)
				}
				inTime(t, time.Now().Add(runIsOver), all, (*alone).ended)
			},
		},
		"killed": {
			[]string{"verifying", "inspecting", "deploying", "wait call-back", "deleting", "cleaning"},
			func(t *testing.T, group string, only *dev.Running, all []*alone) {
				s.conductor(t, group, group+"-2")
				die(t, only)
				inTime(t, time.Now().Add(stepIsOver), all, func(a *alone) error { return a.on(group + "-2") })
			},
		},
		"renamed": {
			[]string{"inspecting", "deleting", "clean wait"},
			func(t *testing.T, group string, only *dev.Running, all []*alone) {
				die(t, only)
				safe := time.Now().Add(stepIsOver)
				s.conductor(t, group, group+"-other")
				if now := time.Now(); now.After(safe) {
					safe = now
				}
				inTime(t, safe, all, func(a *alone) error { return a.on(group + "-other") })
			},
		},
		"killed and asked to end": {
			[]string{"deploying", "cleaning"},
			func(t *testing.T, group string, only *dev.Running, all []*alone) {
				s.conductor(t, group, group+"-2")
				require.NoError(t, syscall.Kill(only.Pid(), syscall.SIGSTOP)) // it neither learns of the request nor answers Temporal
				for _, a := range all {
					a.cancel(a.id)
				}
				die(t, only)
				inTime(t, time.Now().Add(stepIsOver), all, (*alone).aborted)
			},
		},
		"gone": {
			[]string{"verifying", "inspect wait", "deploying", "wait call-back", "deleting", "clean wait"},
			func(t *testing.T, _ string, only *dev.Running, all []*alone) {
				die(t, only)
				inTime(t, time.Now().Add(timeout+waitsFor3s), all, (*alone).ended)
			},
		},
		"forgotten": {
			[]string{"inspecting", "wait call-back", "cleaning"},
			func(t *testing.T, group string, only *dev.Running, all []*alone) {
				die(t, only)
				safe := time.Now().Add(timeout + waitsFor3s)
				eventually(t, timeout+released, func() error {
					a, err := s.ask(http.MethodDelete, "/temper/v1/conductors/"+group+"-1", nil)
					if err == nil && a.Status != http.StatusNoContent {
						err = fmt.Errorf("%d: %s", a.Status, a.Words())
					}
					return err
				})
				inTime(t, safe, all, (*alone).ended)
			},
		},
		"maintained": {
			// Of those whose BMC is silent, the step may be between two tries: nobody is at work then, and it rests.
			[]string{"inspect wait", "deploying", "cleaning"},
			func(t *testing.T, group string, only *dev.Running, all []*alone) {
				s.conductor(t, group, group+"-2")
				require.NoError(t, syscall.Kill(only.Pid(), syscall.SIGSTOP)) // nothing of it happens between the two
				sent := map[*alone]int{}
				for _, a := range all {
					a.maintain()
					sent[a] = len(a.hardware().Actions)
				}
				die(t, only)
				// A step whose BMC is silent may go to the other conductor between two tries. That one lives, so its node is not alone.
				went := map[*alone]bool{}
				inTime(t, time.Now().Add(timeout), all, func(a *alone) error {
					o, err := a.operation(a.id)
					if went[a] = err == nil && !a.passive && text(o.Conductor) == group+"-2"; went[a] {
						return nil
					}
					return cmp.Or(err, a.ended())
				})
				all = slices.DeleteFunc(all, func(a *alone) bool { return went[a] })
				require.NotEmpty(t, all)
				for _, a := range all {
					require.True(t, a.now().Maintenance)
					require.Len(t, a.hardware().Actions, sent[a], "the hardware is not touched")
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := "orphan-" + strings.ReplaceAll(name, " ", "-")
			only := s.conductor(t, group, group+"-1")
			c.harm(t, group, only, leave(t, s, group, c.states...))
		})
	}
	t.Run("never started", func(t *testing.T) {
		t.Parallel()
		neverStarted(t, s)
	})
}

// neverStarted lets an API that can't reach Temporal accept operations, and kills it.
func neverStarted(t *testing.T, s *stack) {
	v, setting := s.behindValve(t, "temporal")
	deaf := s.role(t, "api", "api-deaf", []string{setting}, "--listen", "127.0.0.1:0")
	group := "orphan-unstarted"
	s.conductor(t, group, group+"-1")
	var all []*alone
	for _, name := range []string{"verifying", "deploying", "deleting", "cleaning"} {
		a := &alone{node: enroll(t, s, s.rack.of(standard)), transient: transients[name], name: name}
		a.prepare(a.node)
		a.patch("conductor_group", group)
		a.spoil(a.faults...)
		all = append(all, a)
	}
	v.Hold()
	for _, a := range all {
		ans, err := request(http.MethodPut, deaf.URL()+"/v1/nodes/"+a.uuid+"/states/provision", map[string]any{"target": a.verb},
			http.Header{"X-OpenStack-Ironic-API-Version": {"1.114"}})
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, ans.Status, "%s", ans.Words())
		a.id = a.accepted(ans)
	}
	die(t, deaf)
	inTime(t, time.Now().Add(startsSelf), all, func(a *alone) error { return a.on(group + "-1") })
}
