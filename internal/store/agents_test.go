package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

func TestALookupIsToldATokenThatIsKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := booting(t, s)
	type told struct {
		revealed   int
		same, seen bool
	}
	lookup := func(source string, reveal bool, fresh string) (told, string) {
		var got told
		token, err := s.AgentLookup(t.Context(), n.UUID, source, func(revealed int, same, seen bool) (bool, string) {
			got = told{revealed, same, seen}
			return reveal, fresh
		})
		require.NoError(t, err)
		return got, token
	}
	got, token := lookup("a", true, "t1")
	require.Equal(t, told{}, got)
	require.Equal(t, "t1", token)
	got, token = lookup("a", true, "")
	require.Equal(t, told{1, true, false}, got)
	require.Equal(t, "t1", token, "the lost answer is given again")
	got, token = lookup("b", false, "")
	require.Equal(t, told{2, false, false}, got)
	require.Empty(t, token)
	kept, err := s.AgentToken(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "t1", kept)

	first, op, err := s.AgentHeartbeat(t.Context(), n.UUID, func(known node.Agent, token string) error {
		require.Equal(t, "t1", token)
		require.Empty(t, known.URL)
		return nil
	}, node.Agent{URL: "https://10.0.0.2:9999", Version: "9.9", VerifyCA: "pem"})
	require.NoError(t, err)
	require.True(t, first)
	require.Equal(t, n.Operation.ID, op.ID)
	got, _ = lookup("a", false, "")
	require.True(t, got.seen)
	first, _, err = s.AgentHeartbeat(t.Context(), n.UUID, func(node.Agent, string) error { return nil }, node.Agent{URL: "https://10.0.0.3:9999"})
	require.NoError(t, err)
	require.False(t, first)
	m, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, "https://10.0.0.3:9999", m.Agent.URL)
	require.NotNil(t, m.Agent.LookedUpAt)
	require.True(t, m.Agent.LastHeartbeatAt.After(*m.Agent.FirstHeartbeatAt))

	_, err = s.AgentLookup(t.Context(), someUUID(), "a", func(int, bool, bool) (bool, string) { return true, "x" })
	kind(t, fault.NotFound, err)
}

func TestOfManyLookupsAtOnceOneMakesTheToken(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := booting(t, s)
	var made atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := s.AgentLookup(t.Context(), n.UUID, "a", func(revealed int, _, _ bool) (bool, string) {
				if revealed > 0 {
					return false, ""
				}
				made.Add(1)
				return true, "t"
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, made.Load())
}

func TestAHeartbeatThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	no := fault.New(fault.Unauthorized, "no")
	_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(_ node.Agent, token string) error {
		require.Empty(t, token)
		return no
	}, node.Agent{URL: "https://10.0.0.2:9999"})
	require.ErrorIs(t, err, no)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Nil(t, got.Agent)
	_, _, err = s.AgentHeartbeat(t.Context(), someUUID(), func(node.Agent, string) error { return nil }, node.Agent{})
	kind(t, fault.NotFound, err)
}

func TestAHeartbeatTouchesTheTimeoutOfANodeThatWaits(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	n, o := running(t, s)
	beat := func() *time.Time {
		raw(t, url, "UPDATE nodes SET provision_updated_at = '2001-01-01'")
		_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(node.Agent, string) error { return nil }, node.Agent{})
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		return got.ProvisionUpdatedAt
	}
	require.Equal(t, 2001, beat().Year(), "it works")
	_, err := s.SaveSteps(t.Context(), o.ID, first, node.Progress{Move: node.EventWait})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), *beat(), time.Minute, "it waits")
}

// inspecting returns a node that is being inspected by its agent, with the claim 1.1.
func inspecting(t *testing.T, s *store.Store, phase string) (*node.Node, *node.Operation) {
	t.Helper()
	n := create(t, s, node.Manageable)
	_, err := s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) {
		n.Interfaces["inspect"] = "agent"
		return nil, nil
	})
	require.NoError(t, err)
	return inspectAgain(t, s, n, phase)
}

// inspectAgain begins another inspection of a node that inspecting has made.
func inspectAgain(t *testing.T, s *store.Store, n *node.Node, phase string) (*node.Node, *node.Operation) {
	t.Helper()
	o, err := s.Request(t.Context(), n.UUID, func(*node.Node) (*node.Request, error) {
		return &node.Request{Move: []node.Event{node.EventInspect}, Open: &node.Operation{Kind: node.KindInspect, Target: node.Manageable, Steps: []node.Step{
			{Interface: "inspect", Step: node.StepBootAgent, State: node.StepRunning, Phase: phase},
			{Index: 1, Interface: "inspect", Step: node.StepCollect, State: node.StepPending},
		}}}, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	n, err = s.Claim(t.Context(), o.ID, "r1", first, time.Time{}, "c1")
	require.NoError(t, err)
	return n, n.Operation
}

// Anybody can send an inventory, so it is stored only for a node that waits for one, and
// only the first one of a boot.
func TestAnInventoryIsOnlyForANodeThatWaitsForIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	put := func(n *node.Node, source, serial string) (*node.Operation, error) {
		return s.PutInventory(t.Context(), n.UUID, source, map[string]any{"serial": serial}, nil)
	}
	deploying, _ := running(t, s)
	early, _ := inspecting(t, s, node.PhaseOff)
	for _, n := range []*node.Node{create(t, s, node.Active), deploying, early} {
		_, err := put(n, "a", "stranger's")
		kind(t, fault.NotFound, err)
		_, _, err = s.Inventory(t.Context(), n.UUID)
		kind(t, fault.NotFound, err)
	}
	n, o := inspecting(t, s, node.PhaseArmed)
	op, err := put(n, "a", "1")
	require.NoError(t, err)
	require.Equal(t, o.ID, op.ID)
	op, err = put(n, "a", "2")
	require.NoError(t, err, "its answer was lost")
	require.Nil(t, op, "it is no news")
	_, err = put(n, "b", "3")
	kind(t, fault.NotFound, err)
	inventory, _, err := s.Inventory(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"serial": "1"}, inventory)

	// The next boot may send an inventory again.
	_, err = s.SaveSteps(t.Context(), o.ID, first, node.Progress{ClearAgent: true})
	require.NoError(t, err)
	op, err = put(n, "b", "4")
	require.NoError(t, err)
	require.NotNil(t, op)
}

func TestInventories(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := inspecting(t, s, node.PhaseBooted)
	_, _, err := s.Inventory(t.Context(), n.UUID)
	kind(t, fault.NotFound, err)
	_, err = s.PutInventory(t.Context(), n.UUID, "a", map[string]any{"serial": "a\x00b"}, nil)
	require.NoError(t, err)
	got, err := s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.NotNil(t, got.Agent.InspectedAt)

	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: "52:54:00:00:00:21", PhysicalNetwork: "mine"}))
	_, err = s.SaveInspection(t.Context(), o.ID, first, node.Inspection{
		Properties: map[string]any{"cpus": json.Number("4")}, BootMode: "bios", SecureBoot: new(bool),
		Ports: []node.Port{{Address: "52:54:00:00:00:21", PXEEnabled: true}, {Address: "52:54:00:00:00:22", PXEEnabled: true}},
	})
	require.NoError(t, err)
	_, err = s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Properties: map[string]any{"memory_mb": json.Number("1")}})
	require.NoError(t, err, "again")
	got, err = s.Node(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"cpus": json.Number("4"), "memory_mb": json.Number("1")}, got.Properties)
	require.Equal(t, "bios", got.BootMode)
	require.Equal(t, new(bool), got.SecureBoot, "what the second one does not say stays")
	ports, err := s.NodePorts(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, ports, 2)
	require.Equal(t, "mine", ports[0].PhysicalNetwork)
	link := func(port string) map[string]any {
		return map[string]any{"switch_id": "52:54:00:00:00:99", "port_id": port}
	}
	for _, port := range []string{"Eth1", "Eth2"} {
		_, err = s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Ports: []node.Port{
			{Address: "52:54:00:00:00:21", LocalLinkConnection: link(port)}, {Address: "52:54:00:00:00:23", LocalLinkConnection: link(port)},
		}})
		require.NoError(t, err)
	}
	ports, err = s.NodePorts(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, ports, 3)
	for i, want := range []map[string]any{link("Eth1"), {}, link("Eth1")} {
		require.Equal(t, want, ports[i].LocalLinkConnection, "what a port has stays")
	}
	inventory, plugin, err := s.Inventory(t.Context(), n.Name)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"serial": "ab"}, inventory, "no inventory keeps what is there")
	require.Empty(t, plugin)
	_, err = s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Ports: []node.Port{{Address: "no MAC"}}})
	kind(t, fault.Invalid, err)
}

// However often a node is inspected, and whatever is found, it gets no port of another node,
// and the number of its own ports has a limit.
func TestFoundPortsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, o := inspecting(t, s, node.PhaseBooted)
	other := create(t, s, node.Active)
	require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: other.UUID, Address: "52:54:00:00:00:01"}))
	find := func(round, ports int) int {
		found := []node.Port{{Address: "52:54:00:00:00:01"}, {Address: "52:54:00:00:00:02"}, {Address: "52:54:00:00:00:02"}}
		for i := len(found); i < ports; i++ {
			found = append(found, node.Port{Address: fmt.Sprintf("52:54:%02x:00:%02x:%02x", round, i>>8, i&255)})
		}
		leftOut, err := s.SaveInspection(t.Context(), o.ID, first, node.Inspection{Ports: found})
		require.NoError(t, err)
		return leftOut
	}
	require.Equal(t, 1, find(1, 100), "another node's")
	require.Equal(t, 1, find(1, 100))
	require.Equal(t, 1+97-30, find(2, 100), "too many")
	require.Equal(t, 9998, find(3, 10_000), "all but the one it has")
	ports, err := s.NodePorts(t.Context(), n.UUID)
	require.NoError(t, err)
	require.Len(t, ports, node.MaxFoundPorts)
	ports, err = s.NodePorts(t.Context(), other.UUID)
	require.NoError(t, err)
	require.Len(t, ports, 1)
}

func TestAgentsAreFoundByTheirPorts(t *testing.T) {
	t.Parallel()
	s := open(t)
	const shared = "52:54:00:00:00:3f"
	called := func(state node.State, macs ...string) *node.Node {
		n := create(t, s, state)
		for _, mac := range macs {
			require.NoError(t, s.CreatePort(t.Context(), &node.Port{NodeUUID: n.UUID, Address: mac}))
		}
		return n
	}
	working := func(n *node.Node) *node.Node {
		_, err := s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) {
			n.Interfaces["deploy"] = "direct"
			return nil, nil
		})
		require.NoError(t, err)
		_, err = s.Request(t.Context(), n.UUID, deploy)
		require.NoError(t, err)
		return n
	}
	// All servers of a vendor have the same MAC inside of their BMCs. The first of them that
	// was inspected out of band has a port with this MAC.
	first := called(node.Available, "52:54:00:00:00:30", "52:54:00:00:00:31", shared)
	a := working(called(node.Available, "52:54:00:00:00:32", "52:54:00:00:00:33"))
	b := working(called(node.Available, "52:54:00:00:00:34"))
	fake := called(node.Available, "52:54:00:00:00:35")
	_, err := s.Request(t.Context(), fake.UUID, deploy)
	require.NoError(t, err, "deployed without an agent")

	find := func(want *node.Node, uuid string, macs ...string) {
		t.Helper()
		n, err := s.AgentNode(t.Context(), uuid, macs)
		require.NoError(t, err)
		require.Equal(t, want.Name, n.Name)
	}
	none := func(k fault.Kind, uuid string, macs ...string) {
		t.Helper()
		_, err := s.AgentNode(t.Context(), uuid, macs)
		kind(t, k, err)
	}
	find(a, "", "52:54:00:00:00:32", "52:54:00:00:00:33", "52:54:00:00:00:99")
	find(a, "", "52:54:00:00:00:32", "52:54:00:00:00:33", shared)
	find(b, "", "52:54:00:00:00:34", shared)
	find(b, b.UUID, "52:54:00:00:00:32")
	for _, n := range []*node.Node{first, fake} {
		none(fault.NotFound, n.UUID)
	}
	none(fault.NotFound, "", "52:54:00:00:00:30", shared)
	none(fault.NotFound, "", "52:54:00:00:00:35")
	none(fault.NotFound, "", "52:54:00:00:00:99")
	none(fault.NotFound, "")
	none(fault.NotFound, someUUID())
	none(fault.NotFound, a.Name)

	working(first) // at the same time as the others
	find(first, "", "52:54:00:00:00:30", "52:54:00:00:00:31", shared)
	find(a, "", "52:54:00:00:00:32", "52:54:00:00:00:33", shared)
	find(b, "", "52:54:00:00:00:34", shared)
	working(called(node.Available, "52:54:00:00:00:36"))
	none(fault.Conflict, "", "52:54:00:00:00:34", "52:54:00:00:00:36")
}

// A request without the token neither locks a node's row nor waits for its lock.
func TestAHeartbeatWithoutTheTokenLocksNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	wrong := errors.New("wrong token")
	_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(node.Agent, string) error {
		// The row can be locked while the token is checked.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.UpdateNode(ctx, n.UUID, "", func(*node.Node) (node.Secrets, error) { return nil, nil })
		require.NoError(t, err)
		return wrong
	}, node.Agent{})
	require.ErrorIs(t, err, wrong)
}

func TestAHeartbeatWithoutACertificateLeavesTheOneThatIsKnown(t *testing.T) {
	t.Parallel()
	s := open(t)
	n, _ := running(t, s)
	for _, ca := range []string{"pem", ""} {
		_, _, err := s.AgentHeartbeat(t.Context(), n.UUID, func(node.Agent, string) error { return nil }, node.Agent{URL: "https://10.0.0.3:9999", VerifyCA: ca})
		require.NoError(t, err)
		got, err := s.Node(t.Context(), n.UUID)
		require.NoError(t, err)
		require.Equal(t, "pem", got.Agent.VerifyCA)
	}
}
