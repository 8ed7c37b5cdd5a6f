// Package bmc defines what a driver for baseboard management controllers (BMCs) can
// do. The packages below it (redfish, ipmi, fake) are drivers; package bmctest is the
// conformance suite that each of them passes. It never decides when to call a BMC.
package bmc

import (
	"context"
	"math"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/node"
)

// Power is a power state.
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

// PowerRequest asks for a power state. Sending it twice does the same as sending it once.
type PowerRequest string

// Power requests (Redfish ResetType).
const (
	RequestOn       PowerRequest = "On"
	RequestForceOff PowerRequest = "ForceOff"
	RequestSoftOff  PowerRequest = "GracefulShutdown"
)

// ForceRestart is Redfish's name (ResetType) for what Restarter.Restart does. Steps
// record a restart under this name.
const ForceRestart = "ForceRestart"

// Device is where a server boots from.
type Device string

// Boot devices, by Ironic's names. A device that Ironic has no name for, because
// somebody else set the override, is read as the BMC's name in lower case.
const (
	DeviceNone     Device = ""
	DevicePXE      Device = node.DevicePXE
	DeviceDisk     Device = node.DeviceDisk
	DeviceCDROM    Device = node.DeviceCDROM
	DeviceUEFIHTTP Device = node.DeviceUEFIHTTP
	DeviceBIOS     Device = node.DeviceBIOS
	DeviceSafe     Device = node.DeviceSafe
)

// Mode is the firmware's boot mode, by Ironic's names.
type Mode string

// Boot modes.
const (
	ModeUnknown Mode = ""
	ModeUEFI    Mode = "uefi"
	ModeBIOS    Mode = "bios"
)

// Boot is the boot override. DeviceNone means that there is no override; a one-time
// override reads so after the boot that used it.
type Boot struct {
	Device     Device
	Persistent bool // false = the next boot only (Redfish "Once")
	Mode       Mode // ModeUnknown in a request leaves the mode alone
	// URI is what UEFI loads with DeviceUEFIHTTP (Redfish HttpBootUri), of which a part may be secret; "" = DHCP says it.
	URI string
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
	return b.Device == want.Device && (b.Persistent || !want.Persistent) && (want.URI == "" || b.URI == want.URI)
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
	Image    string // URL, as the BMC reports it
}

// Target is one BMC and how to reach it.
type Target struct {
	Node      string         // the node's uuid, for errors
	Info      map[string]any // driver_info, secrets in the clear; never logged
	LastPower Power          // from the node's row; the fake driver has no other memory

	// Guard is called right before each request that changes something (Permit). If it returns
	// an error, the request is not sent and the caller gets that error. Else it returns when
	// the request has to be given up. Steps use it to check that they still have their claim,
	// and to record the request. Nil means no guard. Logging in and reading are not guarded.
	//
	// If the driver calls it again within one call of a capability, the request before was
	// answered, or the same one is sent again.
	Guard func(context.Context, Request) (until time.Time, err error)

	// Await is called before each such request takes a slot of the BMC, and so before Guard. It returns when
	// the request may be sent as far as other requests are concerned, which may take longer than a request.
	// Nil means that nothing is waited for.
	Await func(context.Context, Request) error

	// AnswerWithin is how long other processes have learned to wait for an answer of this BMC;
	// 0 = they have learned nothing.
	AnswerWithin time.Duration
}

// Session is a conversation with one BMC. Each field is a capability, nil if the driver
// lacks it. If the driver has a capability that this BMC lacks, its methods return
// fault.Refused.
//
// Capabilities are safe for concurrent use. Every request of a call ends when the driver
// gives its answer up (Settings) or with ctx, whichever comes first; most calls make one to
// three requests, Inspect and Health make dozens. Errors are a *fault.Error of kind Unreachable,
// Busy (RetryAfter returns for how long), Refused, Denied, Untrusted or Invalid; or the
// guard's error, unchanged; or, if ctx was cancelled, an error that wraps its cause. No
// call waits until what it requested has taken effect.
type Session struct {
	PowerControl
	Restarter
	BootDevice
	VirtualMedia
	Inspector
	Interrupter
	Identifier
	ManagerRestarter
	RawCommander
	DriveEjector
	Subscriber
	Accounts
	BIOSControl
	Volumes
	FirmwareControl
	TaskReader
	Clock
	BootModes
	Indicators
	MediaDrives
	EventLog
	HealthReader
	EventSource
	ConsoleOpener
	// AnswerWithin returns how long the driver waits for an answer of this BMC now. It is nil if the
	// driver does not learn that.
	AnswerWithin func() time.Duration
	// BootProgress returns how far the boot of the server was when its power state was read last, as Redfish names it
	// (BootProgress.LastState of ComputerSystem); "" = the BMC did not tell. It is nil if the driver does not read that.
	BootProgress func() string
	// End releases what the conversation holds. It may be nil, and may be called again.
	End func()
}

// NotBooting is the BootProgress of a server that has not begun to boot.
const NotBooting = "None"

// TestsItself reports whether a server with this BootProgress initializes its hardware, before it boots anything (Redfish's
// ComputerSystem, BootProgressTypes).
func TestsItself(progress string) bool {
	switch progress {
	case "PrimaryProcessorInitializationStarted", "SecondaryProcessorInitializationStarted", "BusInitializationStarted",
		"MemoryInitializationStarted", "PCIResourceConfigStarted":
		return true
	}
	return false
}

// HasTestedItself reports whether a server with this BootProgress has initialized its hardware.
func HasTestedItself(progress string) bool {
	switch progress {
	case "SystemHardwareInitializationComplete", "SetupEntered", "OSBootStarted", "OSRunning":
		return true
	}
	return false
}

// Close ends the conversation. The driver keeps its BMC session and its connections
// for the next one.
func (s Session) Close() {
	if s.End != nil {
		s.End()
	}
}

// PowerControl switches a server on and off.
type PowerControl interface {
	// Power reads the power state.
	Power(ctx context.Context) (Power, error)
	// RequestPower asks for a power state. If the server is already in it, that is no error.
	RequestPower(ctx context.Context, r PowerRequest) error
}

// Restarter restarts a server that must not be switched off.
type Restarter interface {
	// Restart sends ForceRestart. Nobody can read back whether it took effect, so the
	// caller must send it at most once. If the answer is lost, it returns
	// fault.OutcomeUnknown.
	Restart(ctx context.Context) error
}

// BootDevice chooses what a server boots from next.
type BootDevice interface {
	// Boot reads the boot override.
	Boot(ctx context.Context) (Boot, error)
	// SetBoot writes the boot override; DeviceNone clears it. If the BMC refuses to
	// clear it, SetBoot sets a persistent override of the disk (Boot.Cleared).
	SetBoot(ctx context.Context, b Boot) error
	// BootDevices returns the devices that SetBoot takes, as far as the BMC says so, without DeviceNone.
	BootDevices(ctx context.Context) ([]Device, error)
}

// VirtualMedia is the first virtual CD drive.
type VirtualMedia interface {
	// Media reads what is in the drive.
	Media(ctx context.Context) (Media, error)
	// InsertMedia inserts the image at url. If the BMC shows that image as inserted, it
	// sends nothing and succeeds, unless the same session has ejected it: some BMCs go on
	// showing an ejected image. Another image is ejected first. It returns
	// fault.OutcomeUnknown if the request was sent and no answer came: many BMCs
	// download the image before they answer.
	InsertMedia(ctx context.Context, url string) error
	// EjectMedia ejects the medium. If the drive is empty, it sends nothing and succeeds.
	EjectMedia(ctx context.Context) error
}

// Inspector reads a server's hardware inventory out of band.
type Inspector interface {
	// Inspect reads the hardware inventory.
	Inspect(ctx context.Context) (Inventory, error)
}

// Interrupter interrupts a server whatever it does, so that its operating system writes a crash
// dump or ends.
type Interrupter interface {
	// InjectNMI sends a non-maskable interrupt. The server must be on. Nobody can read back whether
	// it took effect, so it is sent at most once. If the answer is lost, it returns
	// fault.OutcomeUnknown.
	InjectNMI(ctx context.Context) error
}

// IdentifyForever has the light shine until it is switched off.
const IdentifyForever = time.Duration(math.MaxInt64)

// Identifier switches the light by which people find a server.
type Identifier interface {
	// Identify switches the light on for a time, which is rounded up to whole seconds, and off if it
	// is 0. A BMC may shorten it to what it can do.
	Identify(ctx context.Context, d time.Duration) error
}

// ManagerRestarter restarts the BMC. The server itself runs on.
type ManagerRestarter interface {
	// RestartBMC restarts the BMC, which then does not answer for a while and forgets its sessions. A warm restart leaves the
	// parts of the BMC that a cold one resets (IPMI 2.0, 20.2 and 20.3); what these are differs between BMCs.
	// It is sent at most once. If the answer is lost, it returns fault.OutcomeUnknown.
	RestartBMC(ctx context.Context, warm bool) error
}

// RawCommander sends commands that the driver knows nothing of.
type RawCommander interface {
	// SendRaw sends an IPMI command: its network function, its number and its data, together at most node.MaxRaw bytes. Nobody
	// can read back whether it took effect, so it is sent at most once. If the answer is lost, it returns
	// fault.OutcomeUnknown; if the BMC answers with an error, fault.Refused.
	SendRaw(ctx context.Context, command []byte) error
}

// DriveEjector empties virtual drives of all kinds. VirtualMedia is about the one from which servers are booted.
type DriveEjector interface {
	// EjectDrives ejects the media of all virtual drives of a kind: cd, dvd, usb or floppy, "" = of every kind. It sends nothing
	// to a drive that is empty. Without a drive of that kind it returns fault.Invalid.
	EjectDrives(ctx context.Context, kind string) error
}

// Subscriber has the BMC send its events to others than Temper. The subscriptions of Temper itself do not exist for it.
type Subscriber interface {
	// Subscriptions returns the path of the collection of subscriptions, and the subscriptions with their paths.
	Subscriptions(ctx context.Context) (collection string, all []Subscription, err error)
	// Subscription returns the one with that id; fault.NotFound if there is none.
	Subscription(ctx context.Context, id string) (Subscription, error)
	// CreateSubscription creates one, and returns it as the BMC tells it. Each call creates another one. headers are sent with
	// each event.
	CreateSubscription(ctx context.Context, s node.EventSubscription, headers []any) (Subscription, error)
	// DeleteSubscription deletes the one with that id; fault.NotFound if there is none.
	DeleteSubscription(ctx context.Context, id string) error
}

// Subscription is a subscription and its path.
type Subscription struct {
	node.EventSubscription
	Path string
}

// Event is an entry of a BMC's event log.
type Event struct {
	Log      string    // the name of the log that has it
	ID       string    // of the entry in its log; the order of the log need not be that of the ids
	At       time.Time // zero if the BMC did not know the time
	Severity string    // in the words of the protocol, such as Critical; "" = not told
	Sensor   string    // what the event is about, such as "Temperature 0x30"; "" = not told
	Text     string    // what happened, in the words of the BMC or of the specification, or raw bytes
	Asserted bool      // it began; false = it ended
}

// Events are entries of a BMC's event logs.
type Events struct {
	List []Event // the oldest first
	// Incomplete says, in a sentence each, which logs could not be read in full.
	Incomplete []string
}

// EventLog reads and clears the event logs of a BMC.
type EventLog interface {
	// Events returns the entries, at most the newest limit of them; limit is above 0.
	Events(ctx context.Context, limit int) (Events, error)
	// ClearEvents removes all entries of every log that can be cleared, and returns the names of these logs. If it fails, it
	// returns those that were cleared before.
	ClearEvents(ctx context.Context) (cleared []string, err error)
}

// EventSource tells when something happens at a BMC, so that it can be read at once instead of after the next pause. It does not
// tell what happened.
type EventSource interface {
	// FollowEvents calls happened when it begins to follow the BMC's events, and at each of them, until ctx ends. It returns
	// earlier with an error if the BMC offers no events (fault.Refused), or if it ends them. happened must not block.
	FollowEvents(ctx context.Context, happened func()) error
}

// Driver opens conversations with BMCs. A process has one value of it, which is safe
// for concurrent use and limits how many requests go to one BMC at a time.
type Driver interface {
	// Validate checks driver_info without a request to the BMC. It returns
	// fault.Invalid that names every missing or wrong property.
	Validate(info map[string]any) error
	// Open starts a conversation. It may do so without a request to the BMC.
	Open(ctx context.Context, t Target) (Session, error)
	// Close logs out of all BMC sessions, until ctx ends, and closes connections.
	Close(ctx context.Context)
}

// Settings are the settings that all drivers have.
type Settings struct {
	ConnectTimeout time.Duration // connecting to a BMC, TLS included. Default 4 s
	// RequestTimeout and MostTimeout are the bounds between which a driver learns how long one request to a BMC may take,
	// connecting included. If both are the same, nothing is learned. Defaults: 4 s, 60 s.
	RequestTimeout time.Duration
	MostTimeout    time.Duration
	MaxPerBMC      int            // concurrent requests to one BMC. Default 2
	PerSecond      int            // requests to one BMC in any second; below 0 = any number. Default 50
	PerSecondOf    map[string]int // the same of the BMCs of a vendor, by the beginning of its name in lower case; only Redfish tells the vendor
	SessionIdle    time.Duration  // an unused BMC session is logged out after this. Default 60 s
	Proxy          *url.URL       // proxy to the BMCs: http, https or socks5; nil = none
	Reach          dial.Reach     // decides which addresses BMCs may have; a proxy may have any
	CADir          string         // folder of the CA files that driver_info may name; "" = none may be named
}

// WithDefaults returns s with the defaults for the fields that are zero.
func (s Settings) WithDefaults() Settings {
	if s.RequestTimeout == 0 {
		s.RequestTimeout = 4 * time.Second
	}
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = 4 * time.Second
	}
	if s.MostTimeout == 0 {
		s.MostTimeout = time.Minute
	}
	s.MostTimeout = max(s.MostTimeout, s.RequestTimeout)
	if s.MaxPerBMC == 0 {
		s.MaxPerBMC = 2
	}
	if s.PerSecond == 0 {
		s.PerSecond = 50
	}
	if s.SessionIdle == 0 {
		s.SessionIdle = time.Minute
	}
	return s
}
