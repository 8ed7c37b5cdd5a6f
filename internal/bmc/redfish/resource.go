package redfish

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/stmcginnis/gofish/schemas"
)

// The types below hold the few properties that the driver reads of a resource.
// gofish's own structs hold all of them, and refuse the whole resource when one
// has another type than the schema says (a TotalCores that is a string); then a
// server's power could not be read because of its processor. Names, enumerations
// and links are gofish's.

// loose is a property that reads as its zero value, and says so, when the BMC
// sent another type than T.
type loose[T any] struct {
	v   T
	bad bool
}

// UnmarshalJSON never fails.
func (l *loose[T]) UnmarshalJSON(b []byte) error {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		*l = loose[T]{bad: true}
		return nil
	}
	*l = loose[T]{v: v}
	return nil
}

// text is a string; another scalar reads as it is written, anything else as "".
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*t = text(strings.TrimSpace(s))
		return nil
	}
	*t = ""
	if raw := string(b); raw != "null" && !strings.ContainsAny(raw[:1], "{[") {
		*t = text(raw)
	}
	return nil
}

// number is a quantity; sushy-tools sends some as strings. What is no number,
// or negative, or beyond what a machine has, reads as 0.
type number float64

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	var t text
	_ = t.UnmarshalJSON(b)
	v, err := strconv.ParseFloat(string(t), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1<<60 {
		v = 0
	}
	*n = number(v)
	return nil
}

type serviceRoot struct {
	Systems        schemas.Link
	Managers       schemas.Link
	SessionService schemas.Link
	Links          loose[struct{ Sessions schemas.Link }]
}

// sessions is where a session is made, "" where the BMC has no sessions.
func (r serviceRoot) sessions() string {
	if s := r.Links.v.Sessions; s != "" {
		return string(s)
	}
	if r.SessionService != "" {
		return strings.TrimRight(string(r.SessionService), "/") + "/Sessions"
	}
	return ""
}

type collection struct {
	Members  loose[schemas.Links]
	NextLink text `json:"Members@odata.nextLink"`
}

type status struct {
	Health       text
	HealthRollup text
	State        text
}

type system struct {
	ETag       text `json:"@odata.etag"`
	PowerState loose[schemas.PowerState]
	Boot       loose[boot]
	Actions    loose[struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}]
	Status   loose[status]
	Links    loose[struct{ ManagedBy schemas.Links }]
	Settings loose[struct {
		SettingsObject schemas.Link
	}] `json:"@Redfish.Settings"`

	Manufacturer     text
	Model            text
	SerialNumber     text
	UUID             text
	ProcessorSummary loose[struct {
		CoreCount             number
		LogicalProcessorCount number
		Model                 text
	}]
	MemorySummary loose[struct {
		TotalSystemMemoryGiB number
	}]
	Processors         schemas.Link
	Storage            schemas.Link
	SimpleStorage      schemas.Link
	EthernetInterfaces schemas.Link
	VirtualMedia       schemas.Link
}

type boot struct {
	Enabled schemas.BootSourceOverrideEnabled `json:"BootSourceOverrideEnabled"`
	Target  schemas.BootSource                `json:"BootSourceOverrideTarget"`
	Mode    schemas.BootSourceOverrideMode    `json:"BootSourceOverrideMode"`
	Allowed []schemas.BootSource              `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
}

type resetAction struct {
	schemas.ActionTarget
	Allowed loose[[]schemas.ResetType] `json:"ResetType@Redfish.AllowableValues"`
}

// actionInfo tells what an action accepts where the action itself does not.
type actionInfo struct {
	Parameters loose[[]struct {
		Name    text
		Allowed loose[[]schemas.ResetType] `json:"AllowableValues"`
	}]
}

type manager struct {
	VirtualMedia schemas.Link
}

type virtualMedia struct {
	ETag       text `json:"@odata.etag"`
	ID         text `json:"Id"`
	Image      text
	Inserted   loose[*bool]
	MediaTypes loose[[]schemas.VirtualMediaType]
	Actions    loose[struct {
		Insert schemas.ActionTarget `json:"#VirtualMedia.InsertMedia"`
		Eject  schemas.ActionTarget `json:"#VirtualMedia.EjectMedia"`
	}]
}

type processor struct {
	ProcessorType         text
	ProcessorArchitecture loose[schemas.ProcessorArchitecture]
	InstructionSet        loose[schemas.InstructionSet]
	Model                 text
	TotalCores            number
	TotalThreads          number
	Status                loose[status]
}

type storage struct {
	Drives loose[schemas.Links]
}

type drive struct {
	ID            text `json:"Id"`
	Name          text
	CapacityBytes number
	SerialNumber  text
	Model         text
	MediaType     text
	Protocol      text
	Status        loose[status]
}

type simpleStorage struct {
	Devices loose[[]struct {
		Name          text
		Model         text
		CapacityBytes number
		Status        loose[status]
	}]
}

type ethernetInterface struct {
	ID                  text `json:"Id"`
	MACAddress          text
	PermanentMACAddress text
	LinkStatus          text
	InterfaceEnabled    loose[*bool]
	Status              loose[status]
}

// task is what a BMC answers to a request that it will finish later.
type task struct {
	TaskState loose[schemas.TaskState]
	Messages  loose[[]schemas.Message]
}
