// Package bmctest is the conformance suite that every BMC driver passes. It uses
// package bmc only, and knows nothing of any particular driver.
package bmctest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Capability is something that a driver or a BMC may lack. If the driver lacks it, the
// field of its bmc.Session is nil, and the suite skips the checks that need it. If only
// the BMC lacks it, the suite checks that the driver returns fault.Refused or
// fault.Invalid.
type Capability string

// The capabilities that may be lacking.
const (
	Power       Capability = "power" // every BMC has it
	SoftOff     Capability = "soft off"
	Restart     Capability = "force restart"
	ReadBoot    Capability = "read boot" // every BMC has it
	SetBoot     Capability = "set boot"
	BootOnce    Capability = "boot once"  // without it a one-time override reads back as a persistent one
	BootClear   Capability = "boot clear" // without it a cleared override reads back as a persistent one of the disk
	BootMode    Capability = "boot mode"
	BootForever Capability = "boot continuously" // without it a persistent override is refused
	// Without BootReadBack an override that was set reads back as none (OpenIPMI's simulator).
	BootReadBack Capability = "boot read back"
	Media        Capability = "virtual media"
	EjectDrives  Capability = "eject all virtual media"
	Inspection   Capability = "inspection"
	NMI          Capability = "NMI"
	Identify     Capability = "identification light"
	RestartBMC   Capability = "restart of the BMC"
	RawCommand   Capability = "raw command"
	Subscription Capability = "event subscription"
	EventLog     Capability = "event log"
	Health       Capability = "health"
	Console      Capability = "console"
)

// Rig is a driver and a server to test it with, which is powered off and has no boot
// override and no medium. Nobody else uses them until the test ends.
type Rig struct {
	Type   node.HardwareType // the hardware type that the driver is for
	Driver bmc.Driver
	Target bmc.Target // the suite sets its Guard

	// Lacks lists the capabilities that the BMC lacks.
	Lacks []Capability
	// Tries is how many requests one change may take, because the BMC refuses the first
	// forms of some requests. Default 1.
	Tries int
	// Serial is the server's serial number, "" if it is not known.
	Serial string
	// Inventory checks what inspection finds; nil if nobody knows what the server has.
	Inventory func(*testing.T, bmc.Inventory)
	// BootedFromCD reports whether the server has booted from the virtual CD; nil if
	// nobody can tell.
	BootedFromCD func() bool
	// Forgets is true if a conversation does not see what another one changed.
	Forgets bool
	// Changes returns how many requests that could change something reached the BMC,
	// without logins; nil if they can't be counted.
	Changes func() int
	// Hang makes the BMC accept requests and not answer them, until release is called;
	// nil if the BMC can't hang.
	Hang func() (release func())
	// BadInfo is a driver_info that Validate and Open refuse; nil if they accept any.
	BadInfo map[string]any
	// Images are two URLs that the BMC can insert. By default they lead nowhere.
	Images [2]string
	// Settle is the longest time until a request takes effect. Default 10 s.
	Settle time.Duration
}

// Factory returns a new Rig, and removes it with t.Cleanup. The suite closes the driver.
type Factory func(t *testing.T) Rig

// Suite runs every check with a rig of its own from factory.
func Suite(t *testing.T, factory Factory) {
	checks := []struct {
		name  string
		needs Capability // of the driver; "" = nothing
		run   func(*testing.T, *bench)
	}{
		{"driver_info is checked without the BMC, as the hardware type describes it", "", checkInfo},
		{"the driver has what the hardware type promises", "", checkPromises},
		{"a power request may be repeated", Power, checkPower},
		{"a soft power off turns off or is refused", Power, checkSoftOff},
		{"a restart is sent once or refused", Restart, checkRestart},
		{"the boot override reads back as it was set", SetBoot, checkBoot},
		{"a boot override for once is gone after power on", SetBoot, checkBootOnce},
		{"the boot override can be set while the server starts", SetBoot, checkBootWhileStarting},
		{"the server boots from the virtual CD", Media, checkBootFromCD},
		{"a device or request that does not exist is refused", "", checkNonsense},
		{"the virtual CD is changed only when it has to be", Media, checkMedia},
		{"the guard is asked before each change and stops it", Power, checkGuard},
		{"inspection finds a whole machine", Inspection, checkInspection},
		{"the health is read, and nothing is changed", Health, checkHealth},
		{"one session at a time has the console", Console, checkConsole},
		{"a context that has ended stops every call", Power, checkContext},
		{"a silent BMC does not outlast the deadline", Power, checkHang},
		{"many conversations at once do not disturb each other", Power, checkConcurrency},
		{"closing may be repeated and leaves the driver usable", Power, checkClose},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, factory)
			if c.needs != "" && !b.has(c.needs) {
				t.Skipf("the driver lacks %s", c.needs)
			}
			c.run(t, b)
		})
	}
}

// bench is a rig with a guard that counts its calls, and helpers for the checks.
type bench struct {
	Rig
	guard *guard
	can   bmc.Session // shows which capabilities the driver has
}

func newBench(t *testing.T, factory Factory) *bench {
	b := &bench{Rig: factory(t), guard: &guard{}}
	require.Contains(t, node.HardwareTypes(), b.Type.Name, "the hardware type of the rig is not in internal/node/hardware_types.go")
	if b.Settle == 0 {
		b.Settle = 10 * time.Second
	}
	b.Tries = max(b.Tries, 1)
	if b.Images == [2]string{} {
		b.Images = [2]string{"http://192.0.2.1/one.iso", "http://192.0.2.1/two.iso"}
	}
	b.Target.Guard = b.guard.ask
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b.Driver.Close(ctx)
	})
	b.can = b.open(t)
	return b
}

// has reports whether the driver has the capability.
func (b *bench) has(c Capability) bool {
	switch c {
	case Restart:
		return b.can.Restarter != nil && b.can.PowerControl != nil
	case ReadBoot, SetBoot, BootOnce, BootClear, BootMode, BootForever, BootReadBack:
		return b.can.BootDevice != nil
	case Media:
		return b.can.VirtualMedia != nil
	case EjectDrives:
		return b.can.DriveEjector != nil
	case Inspection:
		return b.can.Inspector != nil
	case NMI:
		return b.can.Interrupter != nil
	case Identify:
		return b.can.Identifier != nil
	case RestartBMC:
		return b.can.ManagerRestarter != nil
	case RawCommand:
		return b.can.RawCommander != nil
	case Subscription:
		return b.can.Subscriber != nil
	case EventLog:
		return b.can.EventLog != nil
	case Health:
		return b.can.HealthReader != nil
	case Console:
		return b.can.ConsoleOpener != nil
	}
	return b.can.PowerControl != nil
}

// lacks reports whether the machine or the driver lacks the capability.
func (b *bench) lacks(c Capability) bool { return slices.Contains(b.Lacks, c) || !b.has(c) }

// open starts a conversation that ends with the test.
func (b *bench) open(t *testing.T) bmc.Session {
	t.Helper()
	s, err := b.Driver.Open(t.Context(), b.Target)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// reopen returns a conversation that sees what s changed: a new one unless the rig
// forgets.
func (b *bench) reopen(t *testing.T, s bmc.Session) bmc.Session {
	t.Helper()
	if b.Forgets {
		return s
	}
	return b.open(t)
}

// do calls do until the BMC is not busy, and checks that it succeeds. It returns how many
// calls that took.
func (b *bench) do(t *testing.T, do func() error) (calls int) {
	t.Helper()
	var err error
	until := time.Now().Add(b.Settle)
	for {
		calls++
		if err = do(); !fault.Is(err, fault.Busy) || time.Now().After(until) {
			require.NoError(t, err)
			return calls
		}
		time.Sleep(pollPause)
	}
}

// requireChanges checks that do takes want changes, each with at most as many requests as
// the BMC needs for one.
func (b *bench) requireChanges(t *testing.T, want int, do func() error, words ...any) {
	t.Helper()
	n, calls := b.count(t, do)
	require.GreaterOrEqual(t, n, want, words...)
	require.LessOrEqual(t, n, want*b.Tries*calls, words...)
}

// changes calls do, again while the BMC is busy, and returns how often that called the guard.
// If requests can be counted, it checks that do sent exactly as many that could change
// something.
func (b *bench) changes(t *testing.T, do func() error) int {
	t.Helper()
	n, _ := b.count(t, do)
	return n
}

// count is changes, and also returns how many calls it took.
func (b *bench) count(t *testing.T, do func() error) (changes, calls int) {
	t.Helper()
	asked, sent := b.guard.count(), 0
	if b.Changes != nil {
		sent = b.Changes()
	}
	calls = b.do(t, do)
	asked = b.guard.count() - asked
	if b.Changes != nil {
		require.Equal(t, asked, b.Changes()-sent, "each changing request is guarded, and nothing else is")
	}
	return asked, calls
}

// awaitPower waits until the power state is want.
func (b *bench) awaitPower(t *testing.T, s bmc.Session, want bmc.Power) {
	t.Helper()
	var last bmc.Power
	require.Eventually(t, func() bool {
		p, err := s.Power(t.Context())
		last = p
		return err == nil && p == want
	}, b.Settle, 5*time.Millisecond, "power never read %s, last %q", want, &last)
}

// requestPower sends a power request and waits until it has taken effect.
func (b *bench) requestPower(t *testing.T, s bmc.Session, r bmc.PowerRequest) {
	t.Helper()
	b.do(t, func() error { return s.RequestPower(t.Context(), r) })
	want := bmc.PowerOff
	if r == bmc.RequestOn {
		want = bmc.PowerOn
	}
	b.awaitPower(t, s, want)
}

// requireRefused checks the error of a call that the BMC does not support.
func requireRefused(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, []fault.Kind{fault.Refused, fault.Invalid}, fault.KindOf(err), err.Error())
}
