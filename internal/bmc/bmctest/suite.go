// Package bmctest is the conformance suite that every BMC driver passes. It
// knows package bmc only, and never what is behind a driver.
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

// Capability is something that a driver or a BMC may lack. A driver that lacks it has
// no such field in its bmc.Session, and the suite skips what needs it. Where only the
// BMC lacks it, the driver answers fault.Refused or fault.Invalid, and the suite checks
// that it does.
type Capability string

// The capabilities that may be lacking.
const (
	Power      Capability = "power" // not of a BMC
	SoftOff    Capability = "soft off"
	Restart    Capability = "force restart"
	ReadBoot   Capability = "read boot" // not of a BMC
	SetBoot    Capability = "set boot"
	BootOnce   Capability = "boot once"  // lacking: Once reads back as Persistent
	BootClear  Capability = "boot clear" // lacking: a cleared override reads back as the disk, persistently
	BootMode   Capability = "boot mode"
	Media      Capability = "virtual media"
	Inspection Capability = "inspection"
)

// Rig is one driver with one powered-off machine to try it on: no override, no
// medium. The suite owns both until the test ends.
type Rig struct {
	Type   node.HardwareType // which the driver is for
	Driver bmc.Driver
	Target bmc.Target // its Guard is the suite's to set

	// Lacks lists what the machine can't do.
	Lacks []Capability
	// Forgets is true where a conversation does not see what another one did.
	Forgets bool
	// Changes counts the requests that reached the BMC and could change
	// something, logins apart; nil where there is no wire to count on.
	Changes func() int
	// Hang makes the BMC take requests and not answer them; nil where it can't.
	// What it returns makes it answer again.
	Hang func() (release func())
	// BadInfo is driver_info that Validate and Open refuse; nil where anything goes.
	BadInfo map[string]any
	// Images are two URLs that the BMC can insert; made-up ones by default.
	Images [2]string
	// Settle is how long the machine may take to do what it was asked. Default 10 s.
	Settle time.Duration
}

// Factory makes a fresh Rig and cleans up by t.Cleanup; the suite closes the driver.
type Factory func(t *testing.T) Rig

// Suite runs every check against rigs from factory.
func Suite(t *testing.T, factory Factory) {
	checks := []struct {
		name  string
		needs Capability // of the driver; "" = nothing
		run   func(*testing.T, *bench)
	}{
		{"driver_info is checked without the BMC, as the hardware type describes it", "", checkInfo},
		{"the driver has what the hardware type promises", "", checkPromises},
		{"power obeys absolute wishes, however often they are made", Power, checkPower},
		{"a soft power off turns off or is refused", Power, checkSoftOff},
		{"a restart is sent once or refused", Restart, checkRestart},
		{"the boot override reads back as it was set", SetBoot, checkBoot},
		{"a boot override for once is gone after power on", SetBoot, checkBootOnce},
		{"a device or request that does not exist is refused", "", checkNonsense},
		{"the virtual CD is changed only when it has to be", Media, checkMedia},
		{"the guard is asked before each change and stops it", Power, checkGuard},
		{"inspection finds a whole machine", Inspection, checkInspection},
		{"a context that has ended stops every call", Power, checkContext},
		{"a silent BMC does not outlast the deadline", Power, checkHang},
		{"many conversations at once do not disturb each other", Power, checkConcurrency},
		{"closing may be repeated and leaves the driver usable", Power, checkClose},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, factory)
			if c.needs != "" && !b.has(c.needs) {
				t.Skipf("the driver lacks %s", c.needs)
			}
			c.run(t, b)
		})
	}
}

// bench is a rig with a guard that counts, and the words to use it.
type bench struct {
	Rig
	guard *guard
	can   bmc.Session // to see what the driver has
}

func newBench(t *testing.T, factory Factory) *bench {
	b := &bench{Rig: factory(t), guard: &guard{}}
	if b.Settle == 0 {
		b.Settle = 10 * time.Second
	}
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
	case ReadBoot, SetBoot, BootOnce, BootClear, BootMode:
		return b.can.BootDevice != nil
	case Media:
		return b.can.VirtualMedia != nil
	case Inspection:
		return b.can.Inspector != nil
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

// again is the conversation in which to look at what s did: another one, where
// the BMC remembers.
func (b *bench) again(t *testing.T, s bmc.Session) bmc.Session {
	t.Helper()
	if b.Forgets {
		return s
	}
	return b.open(t)
}

// changes runs do and tells how often it asked the guard and, where that can be
// counted, checks that it sent exactly as many changing requests.
func (b *bench) changes(t *testing.T, do func() error) int {
	t.Helper()
	asked, sent := b.guard.count(), 0
	if b.Changes != nil {
		sent = b.Changes()
	}
	require.NoError(t, do())
	asked = b.guard.count() - asked
	if b.Changes != nil {
		require.Equal(t, asked, b.Changes()-sent, "each changing request is guarded, and nothing else is")
	}
	return asked
}

// seePower waits until the machine reads want.
func (b *bench) seePower(t *testing.T, s bmc.Session, want bmc.Power) {
	t.Helper()
	var last bmc.Power
	require.Eventually(t, func() bool {
		p, err := s.Power(t.Context())
		last = p
		return err == nil && p == want
	}, b.Settle, 5*time.Millisecond, "power never read %s, last %q", want, &last)
}

// request makes a wish and waits until it came true.
func (b *bench) request(t *testing.T, s bmc.Session, r bmc.PowerRequest) {
	t.Helper()
	require.NoError(t, s.RequestPower(t.Context(), r))
	want := bmc.PowerOff
	if r == bmc.RequestOn {
		want = bmc.PowerOn
	}
	b.seePower(t, s, want)
}

// requireRefused checks the answer to what a BMC can't do.
func requireRefused(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, []fault.Kind{fault.Refused, fault.Invalid}, fault.KindOf(err), err.Error())
}
