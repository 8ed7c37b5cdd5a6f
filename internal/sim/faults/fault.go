// Package faults injects faults into a simulated server: the list of its faults, which of
// them strikes a request, and how the HTTP answer then looks. It never knows what a
// request means.
package faults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Type is a type of fault. In JSON it is the fault's kind.
type Type string

// The types of fault. descriptions has a sentence about each.
const (
	Latency      Type = "latency"
	Unavailable  Type = "unavailable"
	Unauthorized Type = "unauthorized"
	Reset        Type = "reset"
	Hang         Type = "hang"
	Truncated    Type = "truncated"
	Mistyped     Type = "mistyped"

	LostPower Type = "lost_power"
	SlowPower Type = "slow_power"
	NoBoot    Type = "no_boot"

	SlowInsert       Type = "slow_insert"
	AlwaysContinuous Type = "always_continuous"

	IgnoredBIOS     Type = "ignored_bios"
	RefusedVolume   Type = "refused_volume"
	FailedVolume    Type = "failed_volume"
	IgnoredFirmware Type = "ignored_firmware"
	FailedFirmware  Type = "failed_firmware"
	SlowFirmware    Type = "slow_firmware"

	TruncatedPassword Type = "truncated_password"

	FailedFan    Type = "failed_fan"
	FailedDrive  Type = "failed_drive"
	Overheated   Type = "overheated"
	HiddenHealth Type = "hidden_health"

	LostPacket     Type = "lost_packet"
	RepeatedPacket Type = "repeated_packet"
	SessionLimit   Type = "session_limit"
	Silence        Type = "silence"
	ConsoleInUse   Type = "console_in_use"

	NoAgent       Type = "no_agent"
	AgentDies     Type = "agent_dies"
	AgentReboots  Type = "agent_reboots"
	WrongChecksum Type = "wrong_checksum"
	Twice         Type = "twice"
	Unheard       Type = "unheard"
)

// When says whether a fault strikes before or after the request takes effect.
type When string

// Before: the request has no effect. After: it takes effect, and its answer is lost.
// Late, of Latency only: it takes effect after the delay, also if the client has hung up.
// Empty means Before.
const (
	Before When = "before"
	After  When = "after"
	Late   When = "late"
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

// Fault is a fault of a server. Empty filters match everything, with one exception: an
// HTTP fault without Command strikes only requests to the BMC, and one with Command only
// the POST of that command to the agent.
type Fault struct {
	Kind   Type   `json:"kind"`
	When   When   `json:"when,omitempty"`
	Method string `json:"method,omitempty"` // exact, any case
	Path   string `json:"path,omitempty"`   // part of the path, e.g. "ComputerSystem.Reset"; "/v1/" reaches the agent
	// Command is an agent's command ("deploy.execute_deploy_step"), its bare
	// name, or the step it runs ("write_image"). Of lost_packet it is a command of IPMI
	// ("Chassis Control"), or "SOL Payload".
	Command     string   `json:"command,omitempty"`
	Count       int      `json:"count"`                 // strikes this often; 0 = until deleted
	Probability *float64 `json:"probability,omitempty"` // of a match to strike; absent = 1
	Delay       Duration `json:"delay,omitempty"`
}

func (f Fault) validate() error {
	if _, ok := descriptionOf[f.Kind]; !ok {
		return fmt.Errorf("unknown kind %q, want one of %s", f.Kind, typeNames())
	}
	switch {
	case f.When == Late && f.Kind != Latency:
		return fmt.Errorf("%s: when is %q, which only %s may have", f.Kind, f.When, Latency)
	case f.When != "" && f.When != Before && f.When != After && f.When != Late:
		return fmt.Errorf("%s: when is %q, want before, after or late", f.Kind, f.When)
	case f.Count < 0:
		return fmt.Errorf("%s: count %d is negative", f.Kind, f.Count)
	case f.Delay < 0:
		return fmt.Errorf("%s: delay %s is negative", f.Kind, time.Duration(f.Delay))
	case f.Probability != nil && (*f.Probability < 0 || *f.Probability > 1):
		return fmt.Errorf("%s: probability %g is not within 0 and 1", f.Kind, *f.Probability)
	}
	return nil
}

// Event is something that a fault may strike.
type Event struct {
	Method   string
	Path     string
	Commands []string // the names of the agent's command; none for a request to the BMC
	Agent    bool     // it is a request to the agent
	Named    bool     // only faults that name a command strike
	When     When     // only faults with this When strike; "" = all
}

func (f Fault) matches(e Event) bool {
	if e.When != "" && cmp.Or(f.When, Before) != e.When {
		return false
	}
	// An event that is no request has no method and no path.
	if e.Path != "" {
		if f.Method != "" && !strings.EqualFold(f.Method, e.Method) {
			return false
		}
		if !f.strikesPath(e) {
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
	// Without a command an HTTP fault strikes the BMC only, unless its path is an agent's.
	return !e.Agent || !f.Kind.strikesRequests() || f.ofAgent()
}

// ofAgent reports whether the path of f is an agent's. The paths of a BMC contain /v1/, too, but none begins with it.
func (f Fault) ofAgent() bool { return strings.HasPrefix(f.Path, "/v1/") }

func (f Fault) strikesPath(e Event) bool {
	if f.ofAgent() {
		return strings.HasPrefix(e.Path, f.Path)
	}
	return strings.Contains(e.Path, f.Path)
}

// List is the body {"faults": [...]} of the rack's API.
type List struct {
	Faults []Fault `json:"faults"`
}

// maxFaults is how many faults a server may have.
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
