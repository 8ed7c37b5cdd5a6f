// Package mischief is what goes wrong with a simulated server, on demand: a
// list of faults, which of them strikes next, and how a struck HTTP answer
// looks. It never knows what the request meant.
package mischief

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Kind names a fault.
type Kind string

// Kinds of fault. table describes each.
const (
	Latency      Kind = "latency"
	Unavailable  Kind = "unavailable"
	Unauthorized Kind = "unauthorized"
	Reset        Kind = "reset"
	Hang         Kind = "hang"
	Truncated    Kind = "truncated"
	Mistyped     Kind = "mistyped"

	LostPower Kind = "lost_power"
	SlowPower Kind = "slow_power"

	SlowInsert       Kind = "slow_insert"
	AlwaysContinuous Kind = "always_continuous"

	NoAgent       Kind = "no_agent"
	AgentDies     Kind = "agent_dies"
	AgentReboots  Kind = "agent_reboots"
	WrongChecksum Kind = "wrong_checksum"
	Twice         Kind = "twice"
	Unheard       Kind = "unheard"
)

// When a fault strikes, seen from the request's effect.
type When string

// Before: the request never takes effect. After: it does, and its answer is
// lost. Empty is Before.
const (
	Before When = "before"
	After  When = "after"
)

// Duration is a time.Duration that reads and writes as "250ms".
type Duration time.Duration

// MarshalText writes Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// Fault is one thing that goes wrong. Empty filters match everything, but for
// one: an HTTP fault without Command strikes only the BMC, and one with
// Command strikes only the agent's POST of that command.
type Fault struct {
	Kind   Kind   `json:"kind"`
	When   When   `json:"when,omitempty"`
	Method string `json:"method,omitempty"` // exact, any case
	Path   string `json:"path,omitempty"`   // part of the path, e.g. "ComputerSystem.Reset"; "/v1/" reaches the agent
	// Command is an agent's command ("deploy.execute_deploy_step"), its bare
	// name, or the step it runs ("write_image").
	Command     string   `json:"command,omitempty"`
	Count       int      `json:"count"`                 // strikes this often; 0 = until deleted
	Probability *float64 `json:"probability,omitempty"` // of a match to strike; absent = 1
	Delay       Duration `json:"delay,omitempty"`
}

func (f Fault) validate() error {
	if _, ok := kinds[f.Kind]; !ok {
		return fmt.Errorf("unknown kind %q, want one of %s", f.Kind, names())
	}
	switch {
	case f.When != "" && f.When != Before && f.When != After:
		return fmt.Errorf("%s: when is %q, want before or after", f.Kind, f.When)
	case f.Count < 0:
		return fmt.Errorf("%s: count %d is negative", f.Kind, f.Count)
	case f.Delay < 0:
		return fmt.Errorf("%s: delay %s is negative", f.Kind, time.Duration(f.Delay))
	case f.Probability != nil && (*f.Probability < 0 || *f.Probability > 1):
		return fmt.Errorf("%s: probability %g is not within 0 and 1", f.Kind, *f.Probability)
	}
	return nil
}

// Event is what a fault may strike.
type Event struct {
	Method   string
	Path     string
	Commands []string // the names one command goes by; none for a BMC's request
	Agent    bool     // a request to the agent
	Named    bool     // only faults that name a command strike
}

func (f Fault) matches(e Event) bool {
	// What is no request has neither method nor path to compare.
	if e.Path != "" {
		if f.Method != "" && !strings.EqualFold(f.Method, e.Method) {
			return false
		}
		if !strings.Contains(e.Path, f.Path) {
			return false
		}
	}
	if f.Command != "" {
		for _, c := range e.Commands {
			if c == f.Command {
				return true
			}
		}
		return false
	}
	if e.Named {
		return false
	}
	// Without a command an HTTP fault is the BMC's, unless its path can only be an agent's.
	return !e.Agent || !f.Kind.onRequests() || strings.HasPrefix(f.Path, "/v1/")
}

// List is a body of {"faults": [...]}.
type List struct {
	Faults []Fault `json:"faults"`
}

// maxFaults bounds a server's list.
const maxFaults = 100

// Parse reads a List and checks it.
func Parse(b []byte) (List, error) {
	var l List
	if err := json.Unmarshal(b, &l); err != nil {
		return List{}, fmt.Errorf("read faults: %w (an example of a list: %s)", err, Example)
	}
	if len(l.Faults) > maxFaults {
		return List{}, fmt.Errorf("%d faults are too many, at most %d", len(l.Faults), maxFaults)
	}
	for i, f := range l.Faults {
		if err := f.validate(); err != nil {
			return List{}, fmt.Errorf("fault %d: %w", i, err)
		}
	}
	return l, nil
}
