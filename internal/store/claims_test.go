package store_test

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestBeginIsOnceAndForAll(t *testing.T) {
	t.Parallel()
	s := open(t)
	o, err := s.Request(t.Context(), create(t, s, node.Available).UUID, deploy)
	require.NoError(t, err)
	b, err := s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	require.Equal(t, node.Running, b.Phase)
	again, err := s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	require.Equal(t, b.BegunAt, again.BegunAt)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r2")
	kind(t, fault.Lost, err)
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Cancelled})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	kind(t, fault.Lost, err)
	_, err = s.Begin(t.Context(), 4711, o.WorkflowID, "r1")
	kind(t, fault.Lost, err)
}

func TestOnlyANewerClaimIsTaken(t *testing.T) {
	t.Parallel()
	s := open(t)
	n := create(t, s, node.Available)
	o, err := s.Request(t.Context(), n.UUID, deploy)
	require.NoError(t, err)
	claim := func(run string, seq int64, attempt int32) error {
		got, err := s.Claim(t.Context(), o.ID, run, node.Claim{Seq: seq, Attempt: attempt}, time.Time{}, "c1")
		if err == nil {
			require.Equal(t, node.Claim{Seq: seq, Attempt: attempt}, got.Operation.Claim)
			require.Equal(t, "c1", got.Operation.Conductor)
			require.Equal(t, n.UUID, got.UUID)
			require.Equal(t, node.Deploying, got.ProvisionState)
		}
		return err
	}
	kind(t, fault.Lost, claim("r1", 1, 1))
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	require.NoError(t, claim("r1", 3, 2))
	kind(t, fault.Lost, claim("r1", 3, 2))
	kind(t, fault.Lost, claim("r1", 3, 1))
	kind(t, fault.Lost, claim("r1", 2, 9))
	kind(t, fault.Lost, claim("r2", 4, 1))
	require.NoError(t, claim("r1", 3, 3))
	require.NoError(t, claim("r1", 4, 1))
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	kind(t, fault.Lost, claim("r1", 5, 1))
}

// After somebody has reset an activity in Temporal, Temporal counts its attempts from one again.
func TestTheAttemptThatBeganLaterIsNewerHoweverTemporalCountsIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	began := time.Now()
	claim := func(seq int64, attempt int32, after time.Duration) (node.Claim, error) {
		n, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: seq, Attempt: attempt}, began.Add(after), "c1")
		if err != nil {
			return node.Claim{}, err
		}
		return n.Operation.Claim, nil
	}
	third, err := claim(1, 3, time.Second)
	require.NoError(t, err)
	require.Equal(t, node.Claim{Seq: 1, Attempt: 3}, third)
	_, err = claim(1, 1, 0)
	kind(t, fault.Lost, err)
	reset, err := claim(1, 1, 2*time.Second)
	require.NoError(t, err)
	require.Greater(t, reset.Attempt, third.Attempt, "who had it before has it no more")
	_, err = s.CheckClaim(t.Context(), o.ID, third)
	kind(t, fault.Lost, err)
	_, err = s.CheckClaim(t.Context(), o.ID, reset)
	require.NoError(t, err)
	for attempt := int32(3); attempt < 20; attempt++ { // attempts that were frozen before the reset and wake now
		_, err = claim(1, attempt, time.Second)
		kind(t, fault.Lost, err)
	}
	next, err := claim(1, 2, 3*time.Second)
	require.NoError(t, err)
	require.Greater(t, next.Attempt, reset.Attempt)
	first, err := claim(2, 1, 4*time.Second)
	require.NoError(t, err)
	require.Equal(t, node.Claim{Seq: 2, Attempt: 1}, first, "another activity is counted anew")
	back, err := claim(2, 2, -time.Hour) // Temporal's clock was set back
	require.NoError(t, err)
	require.Equal(t, node.Claim{Seq: 2, Attempt: 2}, back)
	_, err = claim(0, 9, 4*time.Hour)
	kind(t, fault.Lost, err)
}

func TestAStepThatIsHandedOverForAPauseSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	p := &node.Pause{What: node.PauseOfActivity, At: time.Now().UTC().Truncate(time.Microsecond), Activity: "5"}
	require.NoError(t, s.HandOver(t.Context(), o.ID, first, p, node.Progress{}))
	got, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.True(t, got.Rests)
	require.Equal(t, p, got.TemporalPause)
}

func TestOfManyClaimsAtOnceTheNewestStays(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, o := running(t, s)
	var wg sync.WaitGroup
	var taken atomic.Int64
	for seq := range int64(30) {
		wg.Go(func() {
			if _, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 2 + seq, Attempt: 1}, time.Time{}, "c"); err == nil {
				taken.Add(1)
			} else if !fault.Is(err, fault.Lost) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Positive(t, taken.Load())
	got, err := s.Operation(t.Context(), o.ID)
	require.NoError(t, err)
	require.EqualValues(t, 31, got.Claim.Seq)
}

// writes has everything that an activity writes under a claim.
func writes(s *store.Store, t *testing.T, id int64, c node.Claim) map[string]error {
	out := map[string]error{}
	_, out["check"] = s.CheckClaim(t.Context(), id, c)
	_, out["start a request"] = s.StartRequest(t.Context(), id, c, node.BMCRequest{Name: "late", Left: time.Hour})
	_, out["save"] = s.SaveSteps(t.Context(), id, c, node.Progress{Steps: []node.Step{{Step: "late"}}})
	_, out["save with power"] = s.SaveSteps(t.Context(), id, c, node.Progress{Power: node.PowerOn})
	_, out["save with a move"] = s.SaveSteps(t.Context(), id, c, node.Progress{Move: node.EventWait})
	_, out["save with a move that fits no state"] = s.SaveSteps(t.Context(), id, c, node.Progress{Move: node.EventUnhold})
	_, out["save with a move out of deleting"] = s.SaveSteps(t.Context(), id, c, node.Progress{Move: node.EventClean})
	_, out["inspection"] = s.SaveInspection(t.Context(), id, c, node.Inspection{Properties: map[string]any{"late": true}})
	return out
}

func TestEveryWriteOfASupersededClaimIsLost(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	before, err := s.Claim(t.Context(), o.ID, "r1", node.Claim{Seq: 1, Attempt: 2}, time.Time{}, "c2")
	require.NoError(t, err)
	same := func(t *testing.T) {
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		got.Quarantine = nil // a claim does not read it
		require.Equal(t, before, got)
	}
	for name, c := range map[string]node.Claim{"an older one": first, "one that never was": {Seq: 9, Attempt: 9}, "none": {}} {
		for what, err := range writes(s, t, o.ID, c) {
			t.Run(name+": "+what, func(t *testing.T) { kind(t, fault.Lost, err) })
		}
		same(t)
	}
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	for what, err := range writes(s, t, o.ID, node.Claim{Seq: 1, Attempt: 2}) {
		t.Run("ended: "+what, func(t *testing.T) { kind(t, fault.Lost, err) })
	}
	kind(t, fault.Lost, s.SetUndo(t.Context(), o.ID, "r1", nil, node.Failure{}))
}

func TestSavingSteps(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	steps := []node.Step{{Interface: "deploy", Step: "deploy", State: node.StepRunning, LastError: "a zero \x00 byte"}}
	asked, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{
		Steps: steps, Undo: []node.Undo{node.UndoEjectMedia}, Phase: node.Waiting, WaitingFor: "agent", WaitingUntil: &until,
		Move: node.EventWait, Power: node.PowerOn, BootMode: "uefi", Internal: map[string]any{"k": "v", "bytes": "a\x00b"},
	})
	require.NoError(t, err)
	require.Empty(t, asked)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.DeployWait, got.ProvisionState)
	require.Equal(t, node.Active, got.TargetProvisionState)
	require.Equal(t, node.PowerOn, got.PowerState)
	require.WithinDuration(t, time.Now(), *got.PowerReadAt, time.Minute)
	require.Equal(t, "uefi", got.BootMode)
	require.Equal(t, map[string]any{"k": "v", "bytes": "ab"}, got.DriverInternalInfo)
	require.Equal(t, node.Waiting, got.Operation.Phase)
	require.Equal(t, until, got.Operation.WaitingUntil.UTC())
	require.Equal(t, "a zero  byte", got.Operation.Steps[0].LastError)
	require.Equal(t, []node.Undo{node.UndoEjectMedia}, got.Operation.Undo)

	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Internal: map[string]any{"k2": json.Number("2")}})
	require.NoError(t, err)
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"k": "v", "k2": json.Number("2"), "bytes": "ab"}, got.DriverInternalInfo)
	require.Equal(t, node.Waiting, got.Operation.Phase, "no phase leaves it")
	require.Empty(t, got.Operation.WaitingFor, "no wait clears it")
	require.Len(t, got.Operation.Steps, 1, "no steps leaves them")
	require.Empty(t, got.Operation.Undo, "no undo clears it")
}

func TestAMoveThatDoesNotFitWritesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	for _, e := range []node.Event{node.EventUnhold, node.EventClean, "no such event"} {
		_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: e, Phase: node.Holding, Power: node.PowerOff})
		kind(t, fault.NotAllowed, err)
	}
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Deploying, got.ProvisionState)
	require.Equal(t, node.Running, got.Operation.Phase)
	require.Empty(t, got.PowerState)
}

func TestLeavingDeletingTakesTheInstanceAway(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n := create(t, s, node.Active)
	_, err := s.UpdateNode(t.Context(), n.UUID, "admin", func(n *node.Node) (node.Secrets, error) {
		n.InstanceUUID, n.InstanceName, n.Lessee = someUUID(), "vm", "project"
		n.InstanceInfo = map[string]any{"image_source": "http://x", "configdrive": mask.Masked}
		n.DriverInfo["redfish_password"] = mask.Masked
		return node.Secrets{"instance_info/configdrive": "c2VjcmV0", "instance_info/without_place": "x", "driver_info/redfish_password": "hunter2"}, nil
	})
	require.NoError(t, err)
	raw(t, url, `UPDATE nodes SET allocation_uuid = gen_random_uuid(), driver_internal_info = '{"automatic_lessee": true, "k": 1}'`)
	require.NoError(t, s.CreatePort(t.Context(), &node.Port{
		NodeUUID: n.UUID, Address: "52:54:00:00:00:11",
		InternalInfo: map[string]any{"tenant_vif_port_id": "v", "k": json.Number("1")}, Extra: map[string]any{"vif_port_id": "v"},
	}))
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Move: []node.Event{node.EventDelete}, Open: &node.Operation{Kind: node.KindUndeploy, Target: node.Available}}, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r")
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), o.ID, "r", first, time.Time{}, "c")
	require.NoError(t, err)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventClean, Power: node.PowerOff, Internal: map[string]any{"seen": json.Number("1")}})
	require.NoError(t, err)

	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Cleaning, got.ProvisionState)
	require.Equal(t, node.PowerOff, got.PowerState)
	require.Empty(t, got.InstanceUUID+got.InstanceName+got.AllocationUUID+got.Lessee)
	require.Empty(t, got.InstanceInfo)
	require.Equal(t, map[string]any{"k": json.Number("1"), "seen": json.Number("1")}, got.DriverInternalInfo)
	secrets, err := credentials(t, s, n.UUID)
	require.NoError(t, err)
	require.Equal(t, node.Secrets{"driver_info/redfish_password": "hunter2"}, secrets)
	ports, err := s.NodePorts(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"k": json.Number("1")}, ports[0].InternalInfo)
	require.Empty(t, ports[0].Extra)
}

func TestClearingTheAgentBeginsANewBoot(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := booting(t, s)
	token, err := s.AgentLookup(t.Context(), n.UUID, "here", func(int, bool, bool) (bool, string) { return true, "t0ken" })
	require.NoError(t, err)
	require.Equal(t, "t0ken", token)
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearAgent: true})
	require.NoError(t, err)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Nil(t, got.Agent)
	_, err = s.AgentToken(t.Context(), n.UUID)
	kind(t, fault.NotFound, err)
}

func TestAStepTellsTheNodeItsLastError(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := running(t, s)
	for _, p := range []node.Progress{{LastError: "no power\x00"}, {Power: node.PowerOn}, {}} {
		_, err := s.SaveSteps(t.Context(), o.ID, first, p)
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, "no power", got.LastError, "it stays")
	}
}
