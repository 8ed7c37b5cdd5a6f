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
	"go.temper.dev/temper/internal/rootdevice"
	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// imageRetryPause is the real agent's pause before it downloads an image again
// (image_download_connection_retry_interval). Its other waits are in package agent.
// TimeScale shortens all of them.
const imageRetryPause = 10 * time.Second

// heartbeatEvent is the event with which the fault agent_dies strikes before a heartbeat,
// if its command is "heartbeat".
var heartbeatEvent = faults.Event{Commands: []string{"heartbeat"}, Agent: true, Named: true}

// masked is what lookup returns instead of a token that it has returned before.
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
	rng     *rand.Rand // only the run loop uses it
	started time.Time
	ctx     context.Context // ends with the agent; commands use it, because they outlive their requests
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
	formats    []string // of images that may be written; nil = the API names none
	hints      any      // root device hints of the node, as of the last lookup; nil = it has none
	tokenOnGet bool     // a GET has had a token, so every GET needs it
	results    []*command
	image      string // id of the image on the disk
	partitions agent.PartitionUUIDs
	journal    []string
}

// run is the agent's main loop (agent.py, run): it reports the inventory, looks the node up,
// then answers commands and sends heartbeats until the server is switched off.
func (a *Agent) run(saved *machine.AgentMemory) {
	if saved != nil && saved.Token != "" {
		a.restoreMemory(saved)
	} else {
		node := ""
		if a.fleet.cfg.Inspection {
			a.setPhase(phaseInspecting)
			node = a.inspect()
		}
		a.setPhase(phaseLookup)
		l, ok := a.lookupUntilFound(node)
		if !ok || !a.applyLookup(l) {
			<-a.ctx.Done()
			return
		}
		a.saveMemory()
	}
	a.startServing()
	a.heartbeats()
}

// applyLookup stores the answer to a lookup. An agent that has no token and gets none can't
// prove who it is: the real one logs FATAL and does nothing any more.
func (a *Agent) applyLookup(l agent.Lookup) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.node, a.timeout, a.md5 = l.Node.UUID, l.Config.HeartbeatTimeout, l.Config.MD5Enabled
	a.formats, a.hints = l.Config.PermittedImageFormats, rootdevice.Of(l.Node.InstanceInfo, l.Node.Properties)
	if token := a.s.BootToken(); token != "" {
		a.token = token // it counts before that of a lookup
		return true
	}
	switch token := l.Config.AgentToken; {
	case len(token) >= 32:
		a.token = token
	case token == masked && a.token == "" && l.Config.AgentTokenRequired:
		a.phase = phaseLocked
		a.log.Error("the API returned a masked token and the agent has none: it locks itself down")
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
		if _, dies := a.s.Faults.Trigger(faults.AgentDies, heartbeatEvent); dies {
			a.crash()
			a.waitForEnd()
			return
		}
		if err := a.heartbeat(); err != nil {
			a.logf("error sending heartbeat: %v", err)
			interval = a.scaled(agent.HeartbeatRetry(a.rng.Float64()))
		} else {
			forced = false
			interval = a.scaled(agent.HeartbeatDelay(a.heartbeatTimeout(), a.rng.Float64()))
		}
		previous = time.Now()
	}
}

// heartbeatTimeout returns the longest time that the API allows between two heartbeats.
func (a *Agent) heartbeatTimeout() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Duration(a.timeout) * time.Second
}

// waitForEnd waits until the server is switched off: a dead agent's server stays on.
func (a *Agent) waitForEnd() { <-a.ctx.Done() }

// crash simulates a kernel panic: the agent does not answer any more and its memory is lost.
func (a *Agent) crash() {
	a.stopServing()
	a.setPhase(phaseDead)
	a.s.Remember(a.boot, nil)
	a.die()
}

// reboot restarts the server into the ramdisk: the agent's memory is lost, and it looks its
// node up again.
func (a *Agent) reboot() {
	a.stopServing()
	a.s.AgentRestarts(a.boot)
}

func (a *Agent) setPhase(phase string) {
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

// saveMemory gives the server what must survive a restart of the rack's process.
func (a *Agent) saveMemory() {
	a.mu.Lock()
	m := &machine.AgentMemory{Node: a.node, Token: a.token, HeartbeatTimeout: a.timeout, MD5: a.md5, Formats: a.formats}
	for _, c := range a.results {
		if !c.ended() {
			continue
		}
		kept := c.result
		kept.Params = nil // they may contain a config drive, and every change rewrites the file
		if b, err := json.Marshal(kept); err == nil {
			m.Results = append(m.Results, b)
		}
	}
	a.mu.Unlock()
	a.s.Remember(a.boot, m)
}

func (a *Agent) restoreMemory(m *machine.AgentMemory) {
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
	default: // one is already requested
	}
}

func (a *Agent) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * a.fleet.cfg.TimeScale)
}

// sleep waits for d. It returns false if the server was switched off meanwhile.
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
