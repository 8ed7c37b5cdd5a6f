package ipa

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/sim/mischief"
)

// retryWait is the real agent's pause between tries to read an image
// (image_download_connection_retry_interval). Its other waits are package
// agent's; TimeScale shortens all of them.
const retryWait = 10 * time.Second

// heartbeatEvent lets the fault agent_dies strike before a heartbeat, where it
// is asked to by that name.
var heartbeatEvent = mischief.Event{Commands: []string{"heartbeat"}, Agent: true, Named: true}

// masked is what lookup shows instead of a token it has given before.
const masked = "******"

// Phases of an agent.
const (
	phaseInspecting = "inspecting"
	phaseLookup     = "looking up"
	phaseUp         = "up"
	phaseLocked     = "locked down"
	phaseDead       = "dead"
)

// Agent is one boot of the ramdisk on one server.
type Agent struct {
	fleet   *Fleet
	s       *machine.Server
	boot    int
	log     *zap.Logger
	rng     *rand.Rand // of the run loop alone
	started time.Time
	ctx     context.Context // the agent's life, which commands outlive their requests by
	die     context.CancelFunc
	force   chan struct{}
	work    sync.WaitGroup

	mu         sync.Mutex
	phase      string
	serving    bool
	node       string
	token      string
	timeout    int // heartbeat_timeout, seconds
	md5        bool
	formats    []string // of images that may be written; nil = the API does not say
	tokenOnGet bool     // once a GET came with a token, every GET needs it
	results    []*command
	image      string // id of the image on the disk
	partitions agent.PartitionUUIDs
	journal    []string
}

// run is the agent's main loop (agent.py, run): report, look up, then serve
// and heartbeat until the machine goes off.
func (a *Agent) run(saved *machine.AgentMemory) {
	if saved != nil && saved.Token != "" {
		a.recall(saved)
	} else {
		node := ""
		if a.fleet.cfg.Inspection {
			a.enter(phaseInspecting)
			node = a.inspect()
		}
		a.enter(phaseLookup)
		l, ok := a.lookupUntilKnown(node)
		if !ok || !a.learn(l) {
			<-a.ctx.Done()
			return
		}
		a.remember()
	}
	a.startServing()
	a.heartbeats()
}

// learn takes over what lookup told. An agent that gets no token and has none
// cannot prove who it is: the real one logs FATAL and is of no use from then on.
func (a *Agent) learn(l agent.Lookup) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.timeout, a.md5 = l.Node.UUID, l.Config.HeartbeatTimeout, l.Config.MD5Enabled
	a.formats = l.Config.PermittedImageFormats
	switch token := l.Config.AgentToken; {
	case len(token) >= 32:
		a.token = token
	case token == masked && a.token == "" && l.Config.AgentTokenRequired:
		a.phase = phaseLocked
		a.log.Error("agent token was given out before and is not on file: this is FATAL, locking down")
		return false
	}
	return true
}

func (a *Agent) heartbeats() {
	var interval time.Duration
	previous := time.Now()
	forced := false
	for {
		wait := interval - time.Since(previous)
		if gap := a.scaled(agent.MinHeartbeat) - time.Since(previous); forced && gap < wait {
			wait = gap
		}
		select {
		case <-a.ctx.Done():
			return
		case <-a.force:
			forced = true
			continue
		case <-time.After(max(0, wait)):
		}
		if !a.isServing() {
			a.waitForEnd()
			return
		}
		if _, dies := a.s.Faults.Take(mischief.AgentDies, heartbeatEvent); dies {
			a.dies()
			a.waitForEnd()
			return
		}
		if err := a.heartbeat(); err != nil {
			a.note("error sending heartbeat: %v", err)
			interval = a.scaled(agent.HeartbeatRetry(a.rng.Float64()))
		} else {
			forced = false
			interval = a.scaled(agent.HeartbeatDelay(a.silence(), a.rng.Float64()))
		}
		previous = time.Now()
	}
}

// silence is the longest the API allows between two heartbeats.
func (a *Agent) silence() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Duration(a.timeout) * time.Second
}

// waitForEnd waits until the machine goes off: a dead agent's machine stays on.
func (a *Agent) waitForEnd() { <-a.ctx.Done() }

// dies is a kernel panic: nothing answers any more and nothing is remembered.
func (a *Agent) dies() {
	a.stopServing()
	a.enter(phaseDead)
	a.s.Remember(a.boot, nil)
	a.die()
}

// reboots is the machine coming up in the ramdisk once more: nothing is remembered, and who it is has to be asked again.
func (a *Agent) reboots() {
	a.stopServing()
	a.s.AgentStartsAnew(a.boot)
}

func (a *Agent) enter(phase string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

func (a *Agent) startServing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serving, a.phase = true, phaseUp
}

func (a *Agent) stopServing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serving = false
}

func (a *Agent) isServing() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.serving && a.ctx.Err() == nil
}

// remember hands what must outlive the process to the machine.
func (a *Agent) remember() {
	a.mu.Lock()
	m := &machine.AgentMemory{Node: a.node, Token: a.token, HeartbeatTimeout: a.timeout, MD5: a.md5, Formats: a.formats}
	for _, c := range a.results {
		if !c.ended() {
			continue
		}
		kept := c.result
		kept.Params = nil // config drives are in them, and every change is written to a file
		if b, err := json.Marshal(kept); err == nil {
			m.Results = append(m.Results, b)
		}
	}
	a.mu.Unlock()
	a.s.Remember(a.boot, m)
}

func (a *Agent) recall(m *machine.AgentMemory) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.token, a.timeout, a.md5, a.formats = m.Node, m.Token, m.HeartbeatTimeout, m.MD5, m.Formats
	for _, b := range m.Results {
		c := &command{done: make(chan struct{})}
		if json.Unmarshal(b, &c.result) == nil {
			close(c.done)
			a.results = append(a.results, c)
		}
	}
}

func (a *Agent) forceHeartbeat() {
	select {
	case a.force <- struct{}{}:
	default: // one is asked for already
	}
}

func (a *Agent) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * a.fleet.cfg.TimeScale)
}

// sleep is false when the machine went off meanwhile.
func (a *Agent) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-a.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (a *Agent) client() *http.Client { return a.fleet.cfg.Client }
