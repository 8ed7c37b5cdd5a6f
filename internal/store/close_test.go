package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestClosingMovesTheNodeAndFreesIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, c := range map[string]struct {
		end   node.End
		state node.State
		error string
		step  node.StepState // of the step that was running
	}{
		"a success":      {node.End{Outcome: node.Succeeded}, node.Active, "", node.StepDone},
		"a failure":      {node.End{Outcome: node.Failed, Error: "no disk\x00"}, node.DeployFailed, "no disk", node.StepFailed},
		"a cancellation": {node.End{Outcome: node.Cancelled}, node.DeployFailed, "By request, the deploy operation was aborted", node.StepCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			n, o := booting(t, s)
			_, err := s.AgentLookup(t.Context(), n.UUID, "here", func(int, bool, bool) (bool, string) { return true, "t0ken" })
			require.NoError(t, err)
			began := node.StepRunning
			if c.end.Outcome == node.Succeeded {
				began = node.StepDone
			}
			steps := []node.Step{{Interface: "deploy", Step: "deploy", State: began}, {Index: 1, Interface: "deploy", Step: "boot_instance", State: node.StepPending}}
			_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Steps: steps, Undo: []node.Undo{node.UndoPowerOff}})
			require.NoError(t, err)
			c.end.Operation, c.end.RunID = o.ID, "r1"
			next, err := s.CloseOperation(t.Context(), c.end)
			require.NoError(t, err)
			require.Nil(t, next)

			got, err := s.Node(t.Context(), n.UUID)
			require.NoError(t, err)
			require.Equal(t, c.state, got.ProvisionState)
			require.Equal(t, node.TargetOf(c.state), got.TargetProvisionState)
			require.Equal(t, c.error, got.LastError)
			require.Nil(t, got.Operation)
			require.Nil(t, got.Agent, "the agent of the boot is forgotten")
			require.Equal(t, []node.Undo{node.UndoPowerOff}, got.Owed, "what was left to undo is owed")
			ended, err := s.Operation(t.Context(), o.ID)
			require.NoError(t, err)
			require.Equal(t, node.Ended, ended.Phase)
			require.NotNil(t, ended.EndedAt)
			require.Equal(t, c.end.Outcome, ended.Outcome)
			require.Equal(t, c.step, ended.Steps[0].State, "nobody works on it any more")
			require.Equal(t, c.step != node.StepDone, ended.Steps[0].EndedAt != nil)
			require.Equal(t, c.end.Outcome == node.Succeeded, ended.Steps[1].Over(), "what has succeeded has done all its steps")
			events, err := s.History(t.Context(), n.UUID, node.Page{SortDir: "desc", Limit: 1})
			require.NoError(t, err)
			require.Contains(t, events[0].Event, "deploy "+string(c.end.Outcome)+": from deploying to "+string(c.state))
			require.Equal(t, c.end.Outcome == node.Failed, events[0].Severity == "ERROR")
			require.Equal(t, "c1", events[0].Conductor)
		})
	}
}

func TestClosingWhatIsClosed(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	end := node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"}
	kind(t, fault.Lost, closeErr(s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r2", Outcome: node.Failed})))
	require.NoError(t, closeErr(s.CloseOperation(t.Context(), end)))
	require.NoError(t, closeErr(s.CloseOperation(t.Context(), end)), "the same outcome again")
	end.Again = true
	kind(t, fault.Conflict, closeErr(s.CloseOperation(t.Context(), end)))
	end.Again = false
	end.Outcome = node.Succeeded
	kind(t, fault.Conflict, closeErr(s.CloseOperation(t.Context(), end)))
	end.RunID = "r2"
	kind(t, fault.Lost, closeErr(s.CloseOperation(t.Context(), end)))
	kind(t, fault.NotFound, closeErr(s.CloseOperation(t.Context(), node.End{Operation: 4711, Outcome: node.Failed})))
}

func closeErr(_ *node.Operation, err error) error { return err }

func TestGivingBackANodeThatWaitsOpensTheUndeploy(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventWait})
	require.NoError(t, err)
	_, err = s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Steer: &node.Steer{Ask: node.AskDelete, By: "ann"}, Move: []node.Event{node.EventDelete}}, nil
	})
	require.NoError(t, err)
	end := node.End{Operation: o.ID, RunID: "r1", Outcome: node.Cancelled, Defaults: node.Defaults{OnFailure: node.HoldOnFailure}}

	var followers sync.Map
	var wg sync.WaitGroup
	for range 10 { // ten closings at once agree
		wg.Go(func() {
			next, err := s.CloseOperation(t.Context(), end)
			if err != nil || next == nil {
				t.Error(next, err)
				return
			}
			followers.Store(next.ID, next)
		})
	}
	wg.Wait()
	count := 0
	followers.Range(func(_, v any) bool {
		count++
		next := v.(*node.Operation)
		require.Equal(t, node.KindUndeploy, next.Kind)
		require.Equal(t, node.Deleting, next.Origin)
		require.Equal(t, "ann", next.RequestedBy)
		require.Len(t, next.Steps, 1)
		return true
	})
	require.Equal(t, 1, count)
	m, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Deleting, m.ProvisionState)
	require.Equal(t, node.KindUndeploy, m.Operation.Kind)
}

func TestAFailedCleanStepPutsTheNodeIntoMaintenance(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Manageable)
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Move: []node.Event{node.EventProvide}, Open: &node.Operation{Kind: node.KindProvide, Target: node.Available}}, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), o.ID, "r", first, time.Time{}, "c")
	require.NoError(t, err)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Steps: []node.Step{{Interface: "deploy", Step: "erase", Source: node.SourceAgent, State: node.StepFailed}}})
	require.NoError(t, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r", Outcome: node.Failed, Error: strings.Repeat("ü", 9000)})
	require.NoError(t, err)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.CleanFailed, got.ProvisionState)
	require.True(t, got.Maintenance)
	require.Equal(t, node.FaultClean, got.Fault)
	require.LessOrEqual(t, len(got.LastError), 4096)
	require.True(t, strings.HasSuffix(got.LastError, "ü..."))
}

func TestAPowerChangeLeavesTheStateAlone(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Active)
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{
			Open:  &node.Operation{Kind: node.KindPower, PowerTarget: node.PowerOff},
			Apply: func(n *node.Node) { n.TargetPowerState = node.PowerOff },
		}, nil
	})
	require.NoError(t, err)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.PowerOff, got.TargetPowerState)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, Outcome: node.Succeeded})
	require.NoError(t, err, "even one that never began")
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Active, got.ProvisionState)
	require.Empty(t, got.TargetPowerState)
}

func TestClosingRacesWithSteps(t *testing.T) {
	t.Parallel()
	s := open(t)
	for range 20 {
		n, o := running(t, s)
		var saved atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Power: node.PowerOn, Undo: []node.Undo{node.UndoPowerOff}})
					switch {
					case err == nil:
						saved.Add(1)
					case !fault.Is(err, fault.Lost):
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			if _, err := s.AskOperation(t.Context(), o.ID, node.AskCancel, "", ""); err != nil && !fault.Is(err, fault.Conflict) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := maintain(t, s, n.UUID, true, "", ""); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Succeeded}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, node.Active, got.ProvisionState)
		require.True(t, got.Maintenance)
		if saved.Load() > 0 {
			require.Equal(t, []node.Undo{node.UndoPowerOff}, got.Owed)
		}
	}
}

// TestWritersOfOneNodeDoNotLockEachOtherOut runs everything that writes to a
// node at the same time. If one writer took locks in another order than the others,
// PostgreSQL would report a deadlock, which is fault.Unavailable.
func TestWritersOfOneNodeDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := inspecting(t, s, node.PhaseBooted)
	var macs atomic.Int64
	writers := map[string]func(i int) error{
		"save": func(int) error {
			_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Power: node.PowerOn, ClearAgent: true})
			return err
		},
		"save steps": func(int) error { _, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{}); return err },
		"inspection": func(i int) error {
			_, err := s.SaveInspection(t.Context(), o.ID, first, node.Inspection{
				Properties: map[string]any{"i": i}, Ports: []node.Port{{Address: fmt.Sprintf("52:54:00:00:02:%02x", macs.Add(1)%256)}},
			})
			return err
		},
		"lookup": func(int) error {
			_, err := s.AgentLookup(t.Context(), n.UUID, "a", func(int, bool, bool) (bool, string) { return true, "t" })
			if fault.Is(err, fault.NotFound) { // a save has just deleted the agent
				return nil
			}
			return err
		},
		"boot": func(int) error {
			_, err := s.BeginBoot(t.Context(), o.ID, first, bootMedium("t0ken"))
			return err
		},
		"medium": func(int) error { return s.MediumRead(t.Context(), []byte("t0ken"), 1) },
		"heartbeat": func(int) error {
			_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(node.Agent, string) error { return nil }, node.Agent{URL: "u"})
			return err
		},
		"inventory": func(int) error { _, err := s.PutInventory(t.Context(), n.UUID, "a", nil, nil); return err },
		"rename": func(i int) error {
			_, err := s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) {
				n.Name, n.InstanceUUID = fmt.Sprint("renamed-", i), someUUID()
				return node.Secrets{"driver_info/p": "x"}, nil
			})
			return err
		},
		"ask": func(int) error { _, err := s.AskOperation(t.Context(), o.ID, node.AskPower, "", ""); return err },
		"history": func(int) error {
			return s.AddHistory(t.Context(), node.HistoryEvent{NodeUUID: n.UUID, Event: "e", EventType: "state"})
		},
		"port": func(int) error {
			return s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: fmt.Sprintf("52:54:00:00:03:%02x", macs.Add(1)%256)})
		},
		"missing": func(int) error { _, err := s.MarkMissing(t.Context(), []int64{o.ID}, 0); return err },
		"undo":    func(int) error { return s.SetUndo(t.Context(), o.ID, "r1", nil, node.Failure{}) },
	}
	var wg sync.WaitGroup
	for name, write := range writers {
		for range 2 {
			wg.Go(func() {
				for i := range 15 {
					if err := write(i); err != nil && !fault.Is(err, fault.Conflict) {
						t.Error(name, err)
					}
				}
			})
		}
	}
	wg.Wait()
}
