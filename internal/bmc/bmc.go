// Package bmc is the vocabulary of what can be asked of a baseboard management
// controller. Drivers below it (redfish, fake) speak the protocols; package
// bmctest is the suite that each of them passes. It never decides when to ask.
package bmc

import (
	"context"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/dial"
)

// Power is a power state as it is read.
type Power string

// Power states. PoweringOn and PoweringOff are seen while hardware takes its
// time (Redfish PowerState, DSP2046).
const (
	PowerUnknown Power = ""
	PowerOn      Power = "On"
	PowerOff     Power = "Off"
	PoweringOn   Power = "PoweringOn"
	PoweringOff  Power = "PoweringOff"
)

// PowerRequest is an absolute wish: asking twice does what asking once does.
type PowerRequest string

// Power requests (Redfish ResetType).
const (
	RequestOn       PowerRequest = "On"
	RequestForceOff PowerRequest = "ForceOff"
	RequestSoftOff  PowerRequest = "GracefulShutdown"
)

// ForceRestart is Redfish's name for what Restart does (ResetType). It is the name
// under which a step records it.
const ForceRestart = "ForceRestart"

// Device is where a server boots from.
type Device string

// Boot devices, in Ironic's words. What a BMC tells and Ironic has no word for
// (an override somebody else set) is read as the BMC's word in lower case.
const (
	DeviceNone  Device = ""
	DevicePXE   Device = "pxe"
	DeviceDisk  Device = "disk"
	DeviceCDROM Device = "cdrom"
	DeviceBIOS  Device = "bios"
	DeviceSafe  Device = "safe"
)

// Mode is the firmware's boot mode, in Ironic's words.
type Mode string

// Boot modes.
const (
	ModeUnknown Mode = ""
	ModeUEFI    Mode = "uefi"
	ModeBIOS    Mode = "bios"
)

// Boot is the boot override. Device DeviceNone reads as "no override": a Once
// override that was used reads so after power on.
type Boot struct {
	Device     Device
	Persistent bool // false = the next boot only (Redfish "Once")
	Mode       Mode // ModeUnknown in a request leaves the mode alone
}

// Cleared reports whether the server boots from its disk: there is no override, or
// a persistent override of the disk, which is how Ironic leaves some BMCs.
func (b Boot) Cleared() bool {
	return b.Device == DeviceNone || b.Device == DeviceDisk && b.Persistent
}

// Fulfils reports whether b makes the next boot as wanted. A persistent override
// fulfils a one-time one, too: some BMCs have no other (sushy-tools), and the caller
// clears a one-time override after the boot anyway.
func (b Boot) Fulfils(want Boot) bool {
	if want.Device == DeviceNone {
		return b.Cleared()
	}
	return b.Device == want.Device && (b.Persistent || !want.Persistent)
}

// String describes the override in Redfish's terms.
func (b Boot) String() string {
	switch {
	case b.Device == DeviceNone:
		return "none (Disabled)"
	case b.Persistent:
		return string(b.Device) + " (Continuous)"
	}
	return string(b.Device) + " (Once)"
}

// Media is the virtual CD.
type Media struct {
	Inserted bool
	Image    string // URL as the BMC tells it
}

// Disk is a drive or volume as the BMC lists it.
type Disk struct {
	Name      string
	SizeBytes int64
	Serial    string
	Model     string
	Media     string // ssd, hdd, nvme or ""
}

// NIC is an Ethernet interface as the BMC lists it.
type NIC struct {
	Name    string
	MAC     string // lower case, colons; never empty
	Enabled bool
	LinkUp  bool
}

// Inventory is what out-of-band inspection finds.
type Inventory struct {
	CPUs         int // logical processors where told, else cores
	CPUModel     string
	Architecture string // x86_64, aarch64, ...
	MemoryMiB    int64
	Disks        []Disk
	NICs         []NIC
	Manufacturer string
	Model        string
	Serial       string
	SystemUUID   string
	BootMode     Mode
}

// Target is one BMC and how to reach it.
type Target struct {
	Node      string         // the node's uuid, for errors
	Info      map[string]any // driver_info, secrets in the clear; never logged
	LastPower Power          // what the node's row says; the fake driver's only memory

	// Guard is called right before each request that changes something, and
	// its error is returned instead of sending (design: the claim is looked at
	// again). Nil = no guard. Logging in and reading are not guarded.
	Guard func(context.Context) error
}

// Session is a conversation with one BMC: the capabilities that its driver has, each
// nil where the driver lacks it. What this BMC lacks although its driver has it is
// refused when it is asked for (fault.Refused).
//
// Capabilities are safe for concurrent use. Every request of a call bounds itself by
// the driver's request timeout and by ctx, whichever is shorter; most calls are one to
// three requests, Inspect is dozens. Errors are a *fault.Error: Unreachable, Busy
// (Pause says how long), Refused, Denied, Untrusted, Invalid; or the guard's own as it
// is; or, when ctx was cancelled, an error that wraps its cause. Calls request and
// read; none waits for an effect.
type Session struct {
	PowerControl
	Restarter
	BootDevice
	VirtualMedia
	Inspector
	// End gives back what the conversation holds; nil where that is nothing. It may be
	// called again.
	End func()
}

// Close ends the conversation. Shared sessions and connections of the driver stay for
// the next one.
func (s Session) Close() {
	if s.End != nil {
		s.End()
	}
}

// PowerControl switches a server on and off.
type PowerControl interface {
	// Power reads the power state.
	Power(ctx context.Context) (Power, error)
	// RequestPower sends an absolute wish. Wishing for what is already so is no error.
	RequestPower(ctx context.Context, r PowerRequest) error
}

// Restarter restarts a server that must not be switched off.
type Restarter interface {
	// Restart sends ForceRestart. Its effect can't be read back, so it is to be sent at
	// most once; a lost answer is fault.OutcomeUnknown.
	Restart(ctx context.Context) error
}

// BootDevice chooses what a server boots from next.
type BootDevice interface {
	// Boot reads the boot override.
	Boot(ctx context.Context) (Boot, error)
	// SetBoot writes the boot override; DeviceNone clears it. If the BMC refuses to
	// clear it, SetBoot sets it to the disk persistently (Boot.Cleared).
	SetBoot(ctx context.Context, b Boot) error
}

// VirtualMedia is the first virtual CD drive.
type VirtualMedia interface {
	// Media reads what is in the drive.
	Media(ctx context.Context) (Media, error)
	// InsertMedia inserts the image at url. If that image is already inserted, it
	// sends nothing and succeeds; another image is ejected first. It returns
	// fault.OutcomeUnknown if the request was sent and no answer came: many BMCs
	// download the image before they answer.
	InsertMedia(ctx context.Context, url string) error
	// EjectMedia empties the drive. An empty one is no error and sends nothing.
	EjectMedia(ctx context.Context) error
}

// Inspector knows what is in a server.
type Inspector interface {
	// Inspect reads the hardware inventory.
	Inspect(ctx context.Context) (Inventory, error)
}

// Driver opens conversations. One value serves a whole process; it is safe for
// concurrent use and bounds how many requests go to one BMC at a time.
type Driver interface {
	// Validate checks driver_info without touching the BMC. fault.Invalid
	// names every missing or wrong property.
	Validate(info map[string]any) error
	// Open starts a conversation. It need not touch the BMC.
	Open(ctx context.Context, t Target) (Session, error)
	// Close ends what is shared (BMC sessions are logged out, within ctx).
	Close(ctx context.Context)
}

// Settings bound every driver's conversations.
type Settings struct {
	RequestTimeout time.Duration // one request, dialing included; shorter than the heartbeat timeout. Default 4 s
	MaxPerBMC      int           // requests under way at once to one BMC. Default 2
	SessionIdle    time.Duration // an unused BMC session is logged out after this. Default 60 s
	Proxy          *url.URL      // what leads to the BMCs: http, https or socks5; nil = nothing stands between
	Reach          dial.Reach    // decides which addresses BMCs may have; a proxy may have any
	CADir          string        // folder of the CA files that driver_info may name; "" = none may be named
}

// WithDefaults fills what is zero.
func (s Settings) WithDefaults() Settings {
	if s.RequestTimeout == 0 {
		s.RequestTimeout = 4 * time.Second
	}
	if s.MaxPerBMC == 0 {
		s.MaxPerBMC = 2
	}
	if s.SessionIdle == 0 {
		s.SessionIdle = time.Minute
	}
	return s
}
