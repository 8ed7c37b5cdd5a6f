package machine

import (
	"sync"
	"sync/atomic"
	"time"
)

// PowerAction is one request to change the power, as it was received.
type PowerAction struct {
	At        time.Time `json:"at"`
	ResetType ResetType `json:"reset_type"` // Redfish's, or "agent" and "agent_reboot" from inside
	From      Power     `json:"from"`
	To        Power     `json:"to"`     // where it leads; equal to From where nothing changes
	Effect    bool      `json:"effect"` // whether anything happened at all
}

// AgentCommand is one command POSTed to an agent with the right token.
type AgentCommand struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Boot   int       `json:"boot"`           // of which boot the agent is, from 1
	Step   string    `json:"step,omitempty"` // of execute_*_step
	Answer int       `json:"answer"`         // HTTP status; 409 is a command refused because one was running
}

// maxEntries bounds each list of a journal; the oldest go.
const maxEntries = 10_000

// Journal is what was done to a server. It is never cleared.
type Journal struct {
	jmu      sync.Mutex
	powers   []PowerAction
	commands []AgentCommand

	agentBoots atomic.Int64
	lookups    atomic.Int64
	heartbeats atomic.Int64
	requests   atomic.Int64
}

// Counts are a journal's counters.
type Counts struct {
	AgentBoots int64 `json:"agent_boots"` // agents that came up
	Lookups    int64 `json:"lookups"`     // sent by agents
	Heartbeats int64 `json:"heartbeats"`  // sent by agents
	Requests   int64 `json:"bmc_requests"`
}

// Counts reads the counters.
func (j *Journal) Counts() Counts {
	return Counts{j.agentBoots.Load(), j.lookups.Load(), j.heartbeats.Load(), j.requests.Load()}
}

// CountLookup counts a lookup that is sent.
func (j *Journal) CountLookup() { j.lookups.Add(1) }

// CountHeartbeat counts a heartbeat that is sent.
func (j *Journal) CountHeartbeat() { j.heartbeats.Add(1) }

// CountRequest counts a request to the BMC.
func (j *Journal) CountRequest() { j.requests.Add(1) }

// PowerActions lists them, oldest first.
func (j *Journal) PowerActions() []PowerAction {
	j.jmu.Lock()
	defer j.jmu.Unlock()
	return append([]PowerAction{}, j.powers...)
}

// AgentCommands lists them, oldest first.
func (j *Journal) AgentCommands() []AgentCommand {
	j.jmu.Lock()
	defer j.jmu.Unlock()
	return append([]AgentCommand{}, j.commands...)
}

// RecordCommand notes a command.
func (j *Journal) RecordCommand(c AgentCommand) {
	c.At = time.Now()
	j.jmu.Lock()
	defer j.jmu.Unlock()
	j.commands = bounded(append(j.commands, c))
}

func (j *Journal) recordPower(t ResetType, from, to Power, effect bool) {
	j.jmu.Lock()
	defer j.jmu.Unlock()
	j.powers = bounded(append(j.powers, PowerAction{At: time.Now(), ResetType: t, From: from, To: to, Effect: effect}))
}

func bounded[T any](l []T) []T {
	if len(l) > maxEntries {
		return l[len(l)-maxEntries:]
	}
	return l
}
