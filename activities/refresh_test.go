package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
)

// racks is a fleet whose BMCs give the answers that a test sets, with its records.
type racks struct {
	mu           sync.Mutex
	nodes        []node.Node
	power        map[string]bmc.Power // by node; absent = no answer
	writes       []node.PowerSeen
	atOnce, most int
}

func (r *racks) PowerDue(_ context.Context, hostname string, _ []string, after int64, limit int) ([]node.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []node.Node
	for _, n := range r.nodes {
		if n.ID > after && len(out) < limit && hostname == "c1" {
			out = append(out, n)
		}
	}
	return out, nil
}

func (r *racks) DriverSecrets(_ context.Context, nodes []node.Node) (map[int64]node.Secrets, error) {
	out := map[int64]node.Secrets{}
	for _, n := range nodes {
		out[n.ID] = node.Secrets{"driver_info/password": "geheim"}
	}
	return out, nil
}

func (r *racks) RecordPower(_ context.Context, p node.PowerSeen) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, p)
	return true, nil
}

// Open is the only method of bmc.Driver that racks implements.
func (r *racks) Open(_ context.Context, t bmc.Target) (bmc.Session, error) {
	if t.Info["password"] != "geheim" {
		return bmc.Session{}, errors.New("credentials are missing")
	}
	return bmc.Session{PowerControl: &reading{rack: r, node: t.Node}}, nil
}

type refreshDriver struct {
	bmc.Driver
	*racks
}

func (d refreshDriver) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	return d.racks.Open(ctx, t)
}

type reading struct {
	bmc.PowerControl
	rack *racks
	node string
}

func (s *reading) Power(context.Context) (bmc.Power, error) {
	s.rack.mu.Lock()
	s.rack.atOnce++
	s.rack.most = max(s.rack.most, s.rack.atOnce)
	p, ok := s.rack.power[s.node]
	s.rack.mu.Unlock()
	defer func() { s.rack.mu.Lock(); s.rack.atOnce--; s.rack.mu.Unlock() }()
	if !ok {
		return "", errors.New("no answer")
	}
	return p, nil
}

func (r *racks) refresh(name string) *conductor.PowerRefresh {
	return &conductor.PowerRefresh{
		Store: r, Drivers: map[string]bmc.Driver{"redfish": refreshDriver{racks: r}}, Interval: time.Minute, Log: zap.NewNop(),
		Self: coverage.Conductor{Hostname: name, Interfaces: map[string]map[string][]string{"redfish": nil}},
	}
}

func rackOf(count int) *racks {
	r := &racks{power: map[string]bmc.Power{}}
	for i := range count {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
		r.nodes = append(r.nodes, node.Node{ID: int64(i + 1), UUID: id, Driver: "redfish", DriverInfo: map[string]any{"password": mask.Masked}})
		r.power[id] = bmc.PowerOn
	}
	return r
}

func TestEachNodesPowerIsReadOnceAFewAtATime(t *testing.T) {
	r := rackOf(1200) // more than two pages
	require.NoError(t, r.refresh("c1").All(t.Context()))
	require.Len(t, r.writes, 1200)
	seen := map[string]bool{}
	for _, w := range r.writes {
		require.False(t, seen[w.UUID], "twice")
		seen[w.UUID] = true
		require.Equal(t, node.PowerOn, w.State)
	}
	require.LessOrEqual(t, r.most, 8)
}

func TestOnlyNewsOfPowerIsWritten(t *testing.T) {
	long, now := time.Now().Add(-time.Hour), time.Now()
	for name, c := range map[string]struct {
		node  node.Node
		power bmc.Power
		want  node.PowerState // "" = nothing is written
	}{
		"never read":                 {node.Node{}, bmc.PowerOff, node.PowerOff},
		"changed":                    {node.Node{PowerState: node.PowerOn, PowerReadAt: &now}, bmc.PowerOff, node.PowerOff},
		"the same":                   {node.Node{PowerState: node.PowerOn, PowerReadAt: &now}, bmc.PowerOn, ""},
		"the same, long ago":         {node.Node{PowerState: node.PowerOn, PowerReadAt: &long}, bmc.PowerOn, node.PowerOn},
		"the same, but for a fault":  {node.Node{PowerState: node.PowerOn, PowerReadAt: &now, Fault: node.FaultPower}, bmc.PowerOn, node.PowerOn},
		"unknown to the BMC as well": {node.Node{PowerState: node.PowerOn, PowerReadAt: &now}, bmc.PowerUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := rackOf(1)
			id := r.nodes[0]
			c.node.ID, c.node.UUID, c.node.Driver, c.node.DriverInfo = id.ID, id.UUID, id.Driver, id.DriverInfo
			r.nodes[0], r.power[id.UUID] = c.node, c.power
			require.NoError(t, r.refresh("c1").All(t.Context()))
			if c.want == "" {
				require.Empty(t, r.writes)
				return
			}
			require.Equal(t, []node.PowerSeen{{UUID: id.UUID, ReadAt: c.node.PowerReadAt, State: c.want}}, r.writes)
		})
	}
}

func TestThreeReadingsThatFailInARowAreAFault(t *testing.T) {
	r := rackOf(1)
	id := r.nodes[0].UUID
	refresh := r.refresh("c1")
	all := func() { require.NoError(t, refresh.All(t.Context())) }
	answer := r.power[id]
	now := time.Now()
	r.nodes[0].PowerReadAt, r.nodes[0].PowerState = &now, node.PowerOn
	delete(r.power, id)
	all()
	all()
	r.power[id] = answer
	all()
	delete(r.power, id)
	all()
	all()
	require.Empty(t, r.writes, "not in a row")
	all()
	require.Len(t, r.writes, 1)
	require.Contains(t, r.writes[0].Failure, "could not be read 3 times in a row: no answer")
	r.nodes[0].Fault = node.FaultPower
	all()
	require.Len(t, r.writes, 1, "it is known")
	r.power[id] = answer
	all()
	require.Equal(t, node.PowerOn, r.writes[1].State)
}
