package machine

import (
	"sync"
	"sync/atomic"
	"time"
)

// PowerAction is a request to change the power, as the BMC received it.
type PowerAction struct {
	At        time.Time `json:"at"`
	ResetType ResetType `json:"reset_type"` // Redfish's, "agent" and "agent_reboot" if the agent did it, or the Ending of a real machine
	From      Power     `json:"from"`
	To        Power     `json:"to"`     // the state that it leads to; equal to From if nothing changes
	Effect    bool      `json:"effect"` // whether it did anything
}

// AgentCommand is a command that was POSTed to an agent with the right token.
type AgentCommand struct {
	At     time.Time `json:"at"`
	Name   string    `json:"name"`
	Boot   int       `json:"boot"`           // number of the agent's boot, from 1
	Step   string    `json:"step,omitempty"` // of execute_*_step
	Answer int       `json:"answer"`         // HTTP status; 409 is a command refused because one was running
}

// maxEntries is how many entries each list of a journal keeps; the oldest are dropped.
const maxEntries = 10_000

// Journal records what was done to a server. It is never cleared.
type Journal struct {
	journalMu sync.Mutex
	powers    []PowerAction
	commands  []AgentCommand

	agentBoots atomic.Int64
	lookups    atomic.Int64
	heartbeats atomic.Int64
	requests   atomic.Int64

	volumesMade atomic.Int64
}

// Counts has the counters of a journal.
type Counts struct {
	AgentBoots int64 `json:"agent_boots"` // agents that came up
	Lookups    int64 `json:"lookups"`     // sent by agents
	Heartbeats int64 `json:"heartbeats"`  // sent by agents
	Requests   int64 `json:"bmc_requests"`
	Made       int64 `json:"volumes_made"`
}

// Counts returns the counters.
func (j *Journal) Counts() Counts {
	return Counts{j.agentBoots.Load(), j.lookups.Load(), j.heartbeats.Load(), j.requests.Load(), j.volumesMade.Load()}
}

// CountLookup counts a lookup that the agent sends.
func (j *Journal) CountLookup() { j.lookups.Add(1) }

// CountHeartbeat counts a heartbeat that the agent sends.
func (j *Journal) CountHeartbeat() { j.heartbeats.Add(1) }

// CountRequest counts a request to the BMC.
func (j *Journal) CountRequest() { j.requests.Add(1) }

// PowerActions returns the power actions, oldest first.
func (j *Journal) PowerActions() []PowerAction {
	j.journalMu.Lock()
	defer j.journalMu.Unlock()
	return append([]PowerAction{}, j.powers...)
}

// AgentCommands returns the agents' commands, oldest first.
func (j *Journal) AgentCommands() []AgentCommand {
	j.journalMu.Lock()
	defer j.journalMu.Unlock()
	return append([]AgentCommand{}, j.commands...)
}

// RecordCommand adds a command with the current time.
func (j *Journal) RecordCommand(c AgentCommand) {
	c.At = time.Now()
	j.journalMu.Lock()
	defer j.journalMu.Unlock()
	j.commands = lastEntries(append(j.commands, c))
}

func (j *Journal) recordPower(t ResetType, from, to Power, effect bool) {
	j.journalMu.Lock()
	defer j.journalMu.Unlock()
	j.powers = lastEntries(append(j.powers, PowerAction{At: time.Now(), ResetType: t, From: from, To: to, Effect: effect}))
}

func lastEntries[T any](l []T) []T {
	if len(l) > maxEntries {
		return l[len(l)-maxEntries:]
	}
	return l
}
