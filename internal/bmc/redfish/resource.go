package redfish

import (
	"math"
	"strconv"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/jsonvalue"
)

// The types below have the few properties that the driver reads of a resource. They
// are not gofish's structs, because decoding those fails for the whole resource if one
// property has another type than the schema says (a TotalCores that is a string). Then a
// server's power could not be read because of its processor. Names, enumerations and links
// are gofish's.

// loose is a property that reads as its zero value if the BMC sent another type than T.
// Then bad is true.
type loose[T any] struct {
	v   T
	bad bool
}

// UnmarshalJSON never fails.
func (l *loose[T]) UnmarshalJSON(b []byte) error {
	var v T
	if err := jsonvalue.Unmarshal(b, &v); err != nil {
		*l = loose[T]{bad: true}
		return nil
	}
	*l = loose[T]{v: v}
	return nil
}

// looseString is a string of at most maxText bytes. A number or boolean reads as its JSON
// text, anything else as "".
type looseString string

// UnmarshalJSON never fails.
func (t *looseString) UnmarshalJSON(b []byte) error {
	var s string
	if err := jsonvalue.Unmarshal(b, &s); err != nil {
		if s = string(b[:min(len(b), maxText)]); s == "null" || strings.ContainsAny(s[:1], "{[") {
			s = ""
		}
	}
	*t = looseString(strings.ToValidUTF8(strings.TrimSpace(strings.Clone(s[:min(len(s), maxText)])), ""))
	return nil
}

// stored returns the text as it is stored: one line of at most maxWord runes.
func (t looseString) stored() string { return printable(string(t), maxStored) }

// short returns a text of which an inventory has many, as it is stored: one line of at most maxShort runes.
func (t looseString) short() string { return printable(string(t), maxShort) }

// looseNumber is a quantity. It may be a string, as some are with sushy-tools. A value
// that is no number, negative or larger than maxNumber reads as 0.
type looseNumber float64

// maxNumber is more than any server has of anything, and small enough that a sum of many
// values, or one in KiB, fits an int64.
const maxNumber = 1 << 50

// UnmarshalJSON never fails.
func (n *looseNumber) UnmarshalJSON(b []byte) error {
	var t looseString
	_ = t.UnmarshalJSON(b)
	v, err := strconv.ParseFloat(string(t), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > maxNumber {
		v = 0
	}
	*n = looseNumber(v)
	return nil
}

type serviceRoot struct {
	Vendor         looseString
	Product        looseString
	RedfishVersion looseString
	Systems        link
	Managers       link
	SessionService link
	UpdateService  link
	EventService   link
	AccountService link
	Registries     link
	Tasks          link
	Links          loose[struct{ Sessions link }]
}

// sessions returns the path where a session is created, "" if the BMC has no sessions.
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
	Members  manyLinks
	NextLink looseString `json:"Members@odata.nextLink"`
}

type status struct {
	State looseString
}

type system struct {
	ETag       looseString `json:"@odata.etag"`
	PowerState loose[schemas.PowerState]
	Boot       loose[boot]
	Actions    loose[struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}]
	Status       loose[status]
	BootProgress loose[struct{ LastState looseString }]
	Links        loose[struct{ ManagedBy, Chassis links }]
	Settings     loose[struct {
		SettingsObject link
	}] `json:"@Redfish.Settings"`

	Manufacturer     looseString
	Model            looseString
	SerialNumber     looseString
	SKU              looseString
	PartNumber       looseString
	AssetTag         looseString
	UUID             looseString
	BIOSVersion      looseString `json:"BiosVersion"`
	ProcessorSummary loose[struct {
		CoreCount             looseNumber
		LogicalProcessorCount looseNumber
		Model                 looseString
	}]
	MemorySummary loose[struct {
		TotalSystemMemoryGiB looseNumber
	}]
	TrustedModules     looseList[trustedModule]
	Processors         link
	Memory             link
	Storage            link
	SimpleStorage      link
	EthernetInterfaces link
	NetworkInterfaces  link
	PCIeDevices        linkOrLinks
	SecureBoot         link
	BIOS               link `json:"Bios"`
	VirtualMedia       link
}

type boot struct {
	Enabled schemas.BootSourceOverrideEnabled            `json:"BootSourceOverrideEnabled"`
	Target  schemas.BootSource                           `json:"BootSourceOverrideTarget"`
	Mode    schemas.BootSourceOverrideMode               `json:"BootSourceOverrideMode"`
	Enables looseList[schemas.BootSourceOverrideEnabled] `json:"BootSourceOverrideEnabled@Redfish.AllowableValues"`
	Allowed looseList[schemas.BootSource]                `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
	Modes   looseList[schemas.BootSourceOverrideMode]    `json:"BootSourceOverrideMode@Redfish.AllowableValues"`
	Options link                                         `json:"BootOptions"`
	URI     looseString                                  `json:"HttpBootUri"`
}

type resetAction struct {
	schemas.ActionTarget
	Allowed looseList[schemas.ResetType] `json:"ResetType@Redfish.AllowableValues"`
}

// actionInfo lists what an action accepts, for actions that do not do so themselves.
type actionInfo struct {
	Parameters looseList[struct {
		Name    looseString
		Allowed looseList[schemas.ResetType] `json:"AllowableValues"`
	}]
}

type manager struct {
	Model           looseString
	FirmwareVersion looseString
	VirtualMedia    link
}

type virtualMedia struct {
	ETag       looseString `json:"@odata.etag"`
	ID         looseString `json:"Id"`
	Image      looseString
	Inserted   loose[*bool]
	MediaTypes looseList[schemas.VirtualMediaType]
	Actions    loose[struct {
		Insert schemas.ActionTarget `json:"#VirtualMedia.InsertMedia"`
		Eject  schemas.ActionTarget `json:"#VirtualMedia.EjectMedia"`
	}]
}
