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

// text is a string of at most maxText bytes; another scalar reads as it is
// written, anything else as "".
type text string

// UnmarshalJSON never fails.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		if s = string(b[:min(len(b), maxText)]); s == "null" || strings.ContainsAny(s[:1], "{[") {
			s = ""
		}
	}
	*t = text(strings.ToValidUTF8(strings.TrimSpace(strings.Clone(s[:min(len(s), maxText)])), ""))
	return nil
}

// word returns the text as it is stored: one line of at most maxWord runes.
func (t text) word() string { return clean(string(t), maxWord) }

// number is a quantity; sushy-tools sends some as strings. What is no number,
// or negative, or beyond what a machine has, reads as 0.
type number float64

// maxNumber is more than any machine has of anything, and so small that a sum of
// many, or one in KiB, fits an int64.
const maxNumber = 1 << 50

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	var t text
	_ = t.UnmarshalJSON(b)
	v, err := strconv.ParseFloat(string(t), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > maxNumber {
		v = 0
	}
	*n = number(v)
	return nil
}

type serviceRoot struct {
	Systems        link
	Managers       link
	SessionService link
	Links          loose[struct{ Sessions link }]
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
	Members  links
	NextLink text `json:"Members@odata.nextLink"`
}

type status struct {
	State text
}

type system struct {
	ETag       text `json:"@odata.etag"`
	PowerState loose[schemas.PowerState]
	Boot       loose[boot]
	Actions    loose[struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}]
	Status   loose[status]
	Links    loose[struct{ ManagedBy links }]
	Settings loose[struct {
		SettingsObject link
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
	Processors         link
	Storage            link
	SimpleStorage      link
	EthernetInterfaces link
	VirtualMedia       link
}

type boot struct {
	Enabled schemas.BootSourceOverrideEnabled `json:"BootSourceOverrideEnabled"`
	Target  schemas.BootSource                `json:"BootSourceOverrideTarget"`
	Mode    schemas.BootSourceOverrideMode    `json:"BootSourceOverrideMode"`
	Allowed several[schemas.BootSource]       `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
}

type resetAction struct {
	schemas.ActionTarget
	Allowed several[schemas.ResetType] `json:"ResetType@Redfish.AllowableValues"`
}

// actionInfo tells what an action accepts where the action itself does not.
type actionInfo struct {
	Parameters several[struct {
		Name    text
		Allowed several[schemas.ResetType] `json:"AllowableValues"`
	}]
}

type manager struct {
	VirtualMedia link
}

type virtualMedia struct {
	ETag       text `json:"@odata.etag"`
	ID         text `json:"Id"`
	Image      text
	Inserted   loose[*bool]
	MediaTypes several[schemas.VirtualMediaType]
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
	Drives links
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
	Devices several[struct {
		Name          text
		Model         text
		CapacityBytes number
		Status        loose[status]
	}]
}

type ethernetInterface struct {
	ID                  text `json:"Id"`
	Name                text
	MACAddress          text
	PermanentMACAddress text
	LinkStatus          text
	InterfaceEnabled    loose[*bool]
	Links               loose[struct {
		HostInterface  link
		HostInterfaces links
	}]
	Status loose[status]
}

// task is what a BMC answers to a request that it will finish later.
type task struct {
	TaskState loose[schemas.TaskState]
	Messages  messages
}
