package bmctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// pollPause is the pause between two reads while the suite waits for an effect.
const pollPause = 5 * time.Millisecond

// call is one method of a session, with arguments that would change something on a
// server as prepare leaves it.
type call struct {
	name    string
	changes bool
	lacking Capability
	do      func(context.Context, bmc.Session) error
}

// able returns the calls of the capabilities that the server and the driver have.
func (b *bench) able() []call {
	return slices.DeleteFunc([]call{
		{"Power", false, Power, func(ctx context.Context, s bmc.Session) error { _, err := s.Power(ctx); return err }},
		{"RequestPower", true, Power, func(ctx context.Context, s bmc.Session) error { return s.RequestPower(ctx, bmc.RequestForceOff) }},
		{"Restart", true, Restart, func(ctx context.Context, s bmc.Session) error { return s.Restart(ctx) }},
		{"Boot", false, ReadBoot, func(ctx context.Context, s bmc.Session) error { _, err := s.Boot(ctx); return err }},
		{"SetBoot", true, SetBoot, func(ctx context.Context, s bmc.Session) error { return s.SetBoot(ctx, bmc.Boot{Device: bmc.DevicePXE}) }},
		{"Media", false, Media, func(ctx context.Context, s bmc.Session) error { _, err := s.Media(ctx); return err }},
		{"InsertMedia", true, Media, func(ctx context.Context, s bmc.Session) error { return s.InsertMedia(ctx, b.Images[1]) }},
		{"EjectMedia", true, Media, func(ctx context.Context, s bmc.Session) error { return s.EjectMedia(ctx) }},
		{"Health", false, Health, func(ctx context.Context, s bmc.Session) error { _, err := s.Health(ctx); return err }},
		{"Inspect", false, Inspection, func(ctx context.Context, s bmc.Session) error { _, err := s.Inspect(ctx); return err }},
		{"InjectNMI", true, NMI, func(ctx context.Context, s bmc.Session) error { return s.InjectNMI(ctx) }},
		{"Identify", true, Identify, func(ctx context.Context, s bmc.Session) error { return s.Identify(ctx, time.Second) }},
		{"RestartBMC", true, RestartBMC, func(ctx context.Context, s bmc.Session) error { return s.RestartBMC(ctx, false) }},
		{"SendRaw", true, RawCommand, func(ctx context.Context, s bmc.Session) error { return s.SendRaw(ctx, []byte{0x06, 0x01}) }},
		{"EjectDrives", true, EjectDrives, func(ctx context.Context, s bmc.Session) error { return s.EjectDrives(ctx, "") }},
		{"Subscriptions", false, Subscription, func(ctx context.Context, s bmc.Session) error { _, _, err := s.Subscriptions(ctx); return err }},
		{"CreateSubscription", true, Subscription, func(ctx context.Context, s bmc.Session) error {
			_, err := s.CreateSubscription(ctx, subscription, nil)
			return err
		}},
		{"Events", false, EventLog, func(ctx context.Context, s bmc.Session) error { _, err := s.Events(ctx, 10); return err }},
		{"ClearEvents", true, EventLog, func(ctx context.Context, s bmc.Session) error { _, err := s.ClearEvents(ctx); return err }},
		{"OpenConsole", false, Console, openConsole},
		{"EndConsole", true, Console, func(ctx context.Context, s bmc.Session) error { return s.EndConsole(ctx) }},
	}, func(c call) bool { return b.lacks(c.lacking) })
}

// subscription is one whose events nobody takes.
var subscription = node.EventSubscription{Destination: "https://127.0.0.1:9/events", Protocol: "Redfish", Context: "a test", EventTypes: []string{"Alert"}}

// prepare switches the server on and inserts an image, so that every call has something
// to change.
func (b *bench) prepare(t *testing.T) bmc.Session {
	t.Helper()
	s := b.open(t)
	b.requestPower(t, s, bmc.RequestOn)
	if !b.lacks(Media) {
		b.do(t, func() error { return s.InsertMedia(t.Context(), b.Images[0]) })
		require.Eventually(t, func() bool {
			m, err := s.Media(t.Context())
			return err == nil && m.Inserted
		}, b.Settle, pollPause)
	}
	return s
}

// state is everything that a call can change.
type state struct {
	power bmc.Power
	boot  bmc.Boot
	media bmc.Media
}

func (b *bench) readState(t *testing.T, s bmc.Session) (st state) {
	t.Helper()
	var err error
	st.power, err = s.Power(t.Context())
	require.NoError(t, err)
	if b.has(SetBoot) {
		st.boot, err = s.Boot(t.Context())
		require.NoError(t, err)
	}
	if !b.lacks(Media) {
		st.media, err = s.Media(t.Context())
		require.NoError(t, err)
	}
	return st
}

func checkGuard(t *testing.T, b *bench) {
	s := b.prepare(t)
	before := b.readState(t, s)
	b.guard.set(true)
	sent := 0
	if b.Changes != nil {
		sent = b.Changes()
	}
	for _, c := range b.able() {
		asked := b.guard.count()
		err := c.do(t.Context(), s)
		if !c.changes {
			require.NoError(t, err, "%s reads", c.name)
			require.Equal(t, asked, b.guard.count(), "%s is not guarded", c.name)
			continue
		}
		require.ErrorIs(t, err, errGuard, c.name)
		require.Equal(t, asked+1, b.guard.count(), "%s calls the guard once and stops", c.name)
	}
	if b.Changes != nil {
		require.Equal(t, sent, b.Changes(), "nothing is sent")
	}
	require.Equal(t, before, b.readState(t, s))
}

func checkContext(t *testing.T, b *bench) {
	s := b.prepare(t)
	before := b.readState(t, s)
	reason := errors.New("the step was taken away")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for _, c := range b.able() {
		require.ErrorIs(t, c.do(cancelled, s), reason, "%s tells why it was cancelled", c.name)
		require.Equal(t, fault.Unreachable, fault.KindOf(c.do(late, s)), "%s after its deadline", c.name)
	}
	require.Equal(t, before, b.readState(t, s))
}

func checkHang(t *testing.T, b *bench) {
	if b.Hang == nil {
		t.Skip("the BMC can't hang")
	}
	s := b.prepare(t)
	release := b.Hang()
	for _, c := range b.able() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		begun := time.Now()
		err := c.do(ctx, s)
		cancel()
		require.Equal(t, fault.Unreachable, fault.KindOf(err), "%s: %v", c.name, err)
		require.Less(t, time.Since(begun), 2*time.Second, "%s outlasts its deadline", c.name)
	}
	release()
	_, err := s.Power(t.Context())
	require.NoError(t, err, "the conversation goes on when the BMC answers again")
}

func checkConcurrency(t *testing.T, b *bench) {
	shared := b.prepare(t)
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for i := range 8 {
		wg.Go(func() {
			s := shared
			if i%2 == 1 {
				own, err := b.Driver.Open(t.Context(), b.Target)
				if err != nil {
					errs <- err
					return
				}
				defer own.Close()
				s = own
			}
			for _, c := range b.able() {
				if c.changes {
					continue
				}
				if err := c.do(t.Context(), s); err != nil {
					errs <- fmt.Errorf("%s: %w", c.name, err)
				}
			}
			errs <- s.RequestPower(t.Context(), bmc.RequestOn)
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	b.awaitPower(t, shared, bmc.PowerOn)
}

func checkClose(t *testing.T, b *bench) {
	first := b.open(t)
	_, err := first.Power(t.Context())
	require.NoError(t, err)
	first.Close()
	first.Close()

	second := b.open(t)
	_, err = second.Power(t.Context())
	require.NoError(t, err)
	second.Close()

	b.Driver.Close(t.Context())
	b.Driver.Close(t.Context())
}
