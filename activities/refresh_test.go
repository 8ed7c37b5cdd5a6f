package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	again        [][]node.PowerReadAgain // by statement
	atOnce, most int
	silence      map[int64]node.BMCSilence // by node; NextAt is when it is asked next
	isSilent     map[string]bool           // nodes whose BMC gives no answer
	reads        map[string]int            // by node
	opened       []*node.Operation
}

func (r *racks) BMCSilent(_ context.Context, id int64, s node.BMCSilence, pause time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Since, s.NextAt = time.Now(), time.Now().Add(pause)
	if had, again := r.silence[id]; again {
		s.Since = had.Since
	}
	r.silence[id] = s
	return nil
}

func (r *racks) AskSilentBMC(context.Context, string, string, time.Duration, bool) (time.Duration, error) {
	return 0, errors.New("steps ask for that, a refresh does not")
}

func (r *racks) BMCAnswered(_ context.Context, id int64, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.silence, id)
	return nil
}

func (r *racks) SilentDue(_ context.Context, _ string, _ []string, within time.Duration, limit int) ([]node.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []node.Node
	for _, n := range r.nodes {
		if s, silent := r.silence[n.ID]; silent && len(out) < limit && !time.Now().Before(s.NextAt) {
			n.Silence = &s
			out = append(out, n)
			s.NextAt = time.Now().Add(within)
			r.silence[n.ID] = s
		}
	}
	return out, nil
}

func (r *racks) PowerDue(_ context.Context, hostname string, _ []string, after int64, limit int) ([]node.Node, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []node.Node
	for _, n := range r.nodes {
		if _, silent := r.silence[n.ID]; n.ID > after && len(out) < limit && hostname == "c1" && !silent {
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

func (r *racks) Request(_ context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.nodes[slices.IndexFunc(r.nodes, func(n node.Node) bool { return n.UUID == ident })]
	req, err := decide(&n)
	if err != nil || req == nil {
		return nil, err
	}
	r.opened = append(r.opened, req.Open)
	return req.Open, nil
}

func (r *racks) RecordPowerReadAgain(_ context.Context, readings []node.PowerReadAgain) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = append(r.again, readings)
	return nil
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
	s.rack.reads[s.node]++
	silent := s.rack.isSilent[s.node]
	s.rack.mu.Unlock()
	defer func() { s.rack.mu.Lock(); s.rack.atOnce--; s.rack.mu.Unlock() }()
	if silent {
		return "", silence()
	}
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
	r := &racks{power: map[string]bmc.Power{}, silence: map[int64]node.BMCSilence{}, isSilent: map[string]bool{}, reads: map[string]int{}}
	for i := range count {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
		r.nodes = append(r.nodes, node.Node{ID: int64(i + 1), UUID: id, Driver: "redfish", DriverInfo: map[string]any{"password": mask.Masked}})
		r.power[id] = bmc.PowerOn
	}
	return r
}

func TestEachNodesPowerIsReadOnceAFewAtATime(t *testing.T) {
	t.Parallel()
	r := rackOf(1200) // more than two pages
	require.NoError(t, r.refresh("c1").All(t.Context()))
	require.Len(t, r.writes, 1200)
	seen := map[string]bool{}
	for _, w := range r.writes {
		require.False(t, seen[w.UUID], "twice")
		seen[w.UUID] = true
		require.Equal(t, node.PowerOn, w.State)
	}
	require.LessOrEqual(t, r.most, 128)
}

func TestOnlyNewsOfPowerIsWrittenToTheNode(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	known := node.Node{PowerState: node.PowerOn, PowerReadAt: &long}
	faulty := func(fault string) node.Node {
		n := known
		n.Fault = fault
		return n
	}
	for name, c := range map[string]struct {
		node  node.Node
		power bmc.Power
		want  node.PowerState // what is written; "" = nothing
		again bool            // only when it was read is written
	}{
		"never read":                    {node.Node{}, bmc.PowerOff, node.PowerOff, false},
		"of unknown age":                {node.Node{PowerState: node.PowerOn}, bmc.PowerOn, node.PowerOn, false},
		"changed":                       {known, bmc.PowerOff, node.PowerOff, false},
		"the same":                      {known, bmc.PowerOn, "", true},
		"the same, but for a fault":     {faulty(node.FaultPower), bmc.PowerOn, node.PowerOn, false},
		"the same, with another fault":  {faulty(node.FaultClean), bmc.PowerOn, "", true},
		"not known to the BMC any more": {known, bmc.PowerUnknown, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rackOf(1)
			id := r.nodes[0]
			c.node.ID, c.node.UUID, c.node.Driver, c.node.DriverInfo = id.ID, id.UUID, id.Driver, id.DriverInfo
			r.nodes[0], r.power[id.UUID] = c.node, c.power
			began := time.Now()
			require.NoError(t, r.refresh("c1").All(t.Context()))
			if c.want == "" {
				require.Empty(t, r.writes)
			} else {
				require.Equal(t, []node.PowerSeen{{UUID: id.UUID, ReadAt: c.node.PowerReadAt, State: c.want}}, r.writes)
			}
			if !c.again {
				require.Empty(t, r.again)
				return
			}
			require.Len(t, r.again, 1)
			require.Len(t, r.again[0], 1)
			got := r.again[0][0]
			require.Equal(t, node.PowerReadAgain{ID: id.ID, State: node.PowerOn, At: got.At}, got)
			require.False(t, got.At.Before(began))
		})
	}
}

func TestReadingsWithoutNewsAreWrittenAPageAtATime(t *testing.T) {
	t.Parallel()
	r := rackOf(1200) // more than two pages
	long := time.Now().Add(-time.Hour)
	for i := range r.nodes {
		r.nodes[i].PowerState, r.nodes[i].PowerReadAt = node.PowerOn, &long
	}
	require.NoError(t, r.refresh("c1").All(t.Context()))
	require.Empty(t, r.writes)
	require.LessOrEqual(t, len(r.again), 3)
	seen := map[int64]bool{}
	for _, a := range slices.Concat(r.again...) {
		require.False(t, seen[a.ID], "twice")
		seen[a.ID] = true
	}
	require.Len(t, seen, 1200)
}

func TestThreeReadingsThatFailInARowAreAFault(t *testing.T) {
	t.Parallel()
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

func TestASilentBMCIsAskedBesideTheOthers(t *testing.T) {
	t.Parallel()
	r := rackOf(3)
	id := r.nodes[1].UUID
	r.isSilent[id] = true
	refresh := r.refresh("c1")
	require.NoError(t, refresh.All(t.Context()))
	require.NoError(t, refresh.All(t.Context()))
	require.Equal(t, 1, r.reads[id], "readings leave it out")
	require.Equal(t, 2, r.reads[r.nodes[0].UUID])
	require.Contains(t, r.silence, r.nodes[1].ID)
	require.Len(t, r.writes, 4, "no failure of the power is written yet")

	due := func(since time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := r.silence[r.nodes[1].ID]
		s.Since, s.NextAt = time.Now().Add(-since), time.Now()
		r.silence[r.nodes[1].ID] = s
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); refresh.AskSilent(ctx) }()
	defer func() { stop(); <-ended }()
	due(refresh.Interval * 2)
	wrote := func() []node.PowerSeen {
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.Clone(r.writes[4:])
	}
	require.Eventually(t, func() bool { return len(wrote()) == 1 }, time.Minute, 10*time.Millisecond)
	require.Contains(t, wrote()[0].Failure, node.PowerUnread+" since")

	r.mu.Lock()
	reads := r.reads[id]
	delete(r.isSilent, id)
	r.mu.Unlock()
	due(time.Hour)
	require.Eventually(t, func() bool { return len(wrote()) == 2 }, time.Minute, 10*time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	require.Equal(t, node.PowerOn, r.writes[5].State)
	require.NotContains(t, r.silence, r.nodes[1].ID)
	require.Equal(t, reads+3, r.reads[id], "what it says is believed after three answers")
}

func TestAServerThatSomebodySwitchedIsSwitchedBackWhereThatIsSet(t *testing.T) {
	t.Parallel()
	yesterday := time.Now().Add(-24 * time.Hour)
	for name, c := range map[string]struct {
		change   func(*node.Node)
		set      bool
		recorded node.PowerState
		target   node.PowerState // of the operation; "" = none, and the state is recorded
	}{
		"it is not set":              {func(*node.Node) {}, false, node.PowerOff, ""},
		"it was off":                 {func(*node.Node) {}, true, node.PowerOff, node.PowerOff},
		"it was on, as now":          {func(*node.Node) {}, true, node.PowerOn, ""},
		"nothing was recorded":       {func(n *node.Node) { n.PowerReadAt = nil }, true, "", ""},
		"it may not be switched off": {func(n *node.Node) { n.DisablePowerOff = true }, true, node.PowerOff, ""},
		"it could not be read":       {func(n *node.Node) { n.Fault = node.FaultPower }, true, node.PowerOff, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := rackOf(1) // it is on
			n := &r.nodes[0]
			n.ProvisionState, n.PowerState, n.PowerReadAt = node.Active, c.recorded, &yesterday
			c.change(n)
			refresh := r.refresh("c1")
			refresh.Restores = c.set
			require.NoError(t, refresh.All(t.Context()))
			if c.target == "" {
				require.Empty(t, r.opened)
				return
			}
			require.Empty(t, r.writes)
			require.Len(t, r.opened, 1)
			require.Equal(t, node.KindPower, r.opened[0].Kind)
			require.Equal(t, c.target, r.opened[0].PowerTarget)
			require.Equal(t, "power.off", r.opened[0].Steps[0].Name())
		})
	}
}
