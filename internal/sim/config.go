// Package sim simulates a rack of servers: BMCs with Redfish and ramdisk agents over real
// HTTP, a list of what was done to each server, faults on demand, and images to deploy. It
// shares no code with the drivers and clients that it tests, except for the types of the
// agent's protocol. The front for IPMI and the driver both use packets of go-ipmi; ipmitool
// tests the one, and OpenIPMI's simulator the other.
package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/sim/redfish"
)

// Config has the settings of a rack. A field that is zero has its default.
type Config struct {
	Servers int   // how many; their names are sim-0001, sim-0002, ...
	Seed    int64 // determines identities, credentials, disk image, faults and jitter
	// Personas are the names of the machines that the servers are, in turn; all stands for every one. Defaults to generic.
	Personas []string
	Listen   string // host:port for Run; port 0 is the last start's with the same DataDir, else a free one. Defaults to 127.0.0.1:0
	Host     string // host name or address in URLs instead of the listener's, for clients on other machines
	// AllowedHosts are further host names that requests may have in their Host header if the rack listens on loopback.
	AllowedHosts []string
	APIURL       string // the API that the agents call; may be set later with SetAPIURL: agents wait for it

	// Machines is what the servers are: simulated (the default), or qemu, virtual machines of QEMU, which really boot. Firmware is
	// theirs: uefi (the default), uefi-secure, which boots only what Microsoft or Debian has signed, or bios. NVMe is that their disk is
	// one, and no virtual one.
	Machines string
	Firmware string
	NVMe     bool
	TwoDisks bool // they have a second disk of the same kind

	// DataDir is the folder of disks, states and certificates. A rack that is started
	// again with it continues as if the servers had run on. If it is empty, the rack uses
	// a temporary folder and removes it at the end.
	DataDir string

	Latency        time.Duration // of every answer of a BMC. Defaults to none
	PowerDelay     time.Duration // of a power change. Defaults to 200 ms
	BootDelay      time.Duration // from power on to what is booted. Defaults to 500 ms
	StepDelay      time.Duration // of an agent's command beside its real work. Defaults to 50 ms
	TaskDelay      time.Duration // InsertMedia and Reset answer 202 with a task that takes this long. Defaults to none: they answer 204
	SessionTimeout time.Duration // of an unused Redfish session. Defaults to 30 min
	MaxSessions    int           // of one BMC. Defaults to 16

	// TimeScale is the factor of every wait of the real agent: heartbeats at
	// 0.3 to 0.6 of heartbeat_timeout, forced ones at most every 5 s, lookups
	// again after a second up to a minute, images after 10 s. Defaults to 0.05.
	TimeScale float64

	// NoInspection keeps agents from reporting their inventory. Without it each agent
	// posts to continue_inspection when it boots, as a real agent with the boot parameter
	// ipa-inspection-callback-url does, and continues with its lookup whatever the answer
	// is. (Simulated agents can't see boot parameters.)
	NoInspection bool

	// NoProgress keeps agents from telling how much of a running command is done. ironic-python-agent does not tell that;
	// agents that do are described at agent.Progress.
	NoProgress bool

	Tap              string // network interface of this machine in whose network a virtual machine is; "" = it has one of QEMU
	NetworkBoot      string // URL of the script that iPXE of a virtual machine with a BIOS begins with
	PXE              bool   // with the boot override Pxe an agent boots; without this setting the disk boots
	TLS              bool   // BMCs speak https, with certificates of a CA made for the rack
	PerServerAddress bool   // each BMC has an address of its own, 127.100.x.y, instead of a path
	IPMI             bool   // each BMC speaks IPMI, too, at a UDP port of its own on the rack's host

	DiskBytes  int64 // size of each disk. Defaults to the drives' (480 GB and up; files are sparse)
	ImageBytes int   // size of the disk image that is served. Defaults to 4 MiB
	MediaLimit int64 // largest virtual CD. Defaults to 4 GiB

	Log     *zap.Logger           // defaults to none
	Metrics prometheus.Registerer // defaults to none
}

// WithDefaults returns c with the defaults for the fields that are zero.
func (c Config) WithDefaults() Config {
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.PowerDelay = cmp.Or(c.PowerDelay, 200*time.Millisecond)
	c.BootDelay = cmp.Or(c.BootDelay, 500*time.Millisecond)
	c.StepDelay = cmp.Or(c.StepDelay, 50*time.Millisecond)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 30*time.Minute)
	c.MaxSessions = cmp.Or(c.MaxSessions, 16)
	c.TimeScale = cmp.Or(c.TimeScale, 0.05)
	c.ImageBytes = cmp.Or(c.ImageBytes, 4<<20)
	c.MediaLimit = cmp.Or(c.MediaLimit, 4<<30)
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

// maxServers is how many servers the patterns of names and addresses allow.
const maxServers = 20_000

// Values of Config.Machines and Config.Firmware.
const (
	Simulated = "simulated"
	QEMU      = "qemu"
	UEFI      = "uefi"
	// UEFISecure is UEFI with Secure Boot on, and the keys of Microsoft.
	UEFISecure = "uefi-secure"
	BIOS       = "bios"
)

func (c Config) validate() error {
	var errs []error
	if c.Servers < 0 || c.Servers > maxServers {
		errs = append(errs, fmt.Errorf("servers is %d, want 0 to %d", c.Servers, maxServers))
	}
	for name, d := range map[string]time.Duration{
		"latency": c.Latency, "power delay": c.PowerDelay, "boot delay": c.BootDelay, "step delay": c.StepDelay,
		"task delay": c.TaskDelay, "session timeout": c.SessionTimeout,
	} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s is %s, want 0 or more", name, d))
		}
	}
	if c.TimeScale < 0 || c.MaxSessions < 0 || c.DiskBytes < 0 || c.MediaLimit < 0 {
		errs = append(errs, errors.New("time scale, sessions and sizes must not be negative"))
	}
	if c.ImageBytes < 512 || c.ImageBytes > 1<<30 {
		errs = append(errs, fmt.Errorf("image is %d bytes, want 512 to %d", c.ImageBytes, 1<<30))
	}
	if !slices.Contains([]string{"", Simulated, QEMU}, c.Machines) {
		errs = append(errs, fmt.Errorf("machines are %q, want %s or %s", c.Machines, Simulated, QEMU))
	}
	if !slices.Contains([]string{"", UEFI, UEFISecure, BIOS}, c.Firmware) {
		errs = append(errs, fmt.Errorf("firmware is %q, want %s, %s or %s", c.Firmware, UEFI, UEFISecure, BIOS))
	}
	if _, err := redfish.FindPersonas(c.Personas); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
