package fake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	bmctest.Suite(t, func(*testing.T) bmctest.Rig {
		hw, _ := node.Hardware("fake-hardware")
		return bmctest.Rig{
			Type:    hw,
			Driver:  fake.New(fake.Delays{}),
			Target:  bmc.Target{Node: "5d4b5a3c-0000-4000-8000-000000000001", LastPower: bmc.PowerOff},
			Forgets: true,
		}
	})
}

func open(t *testing.T, d *fake.Driver, target bmc.Target) bmc.Session {
	t.Helper()
	s, err := d.Open(t.Context(), target)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestPowerIsWhatTheRowSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ row, want bmc.Power }{
		"a machine that was on is on":         {bmc.PowerOn, bmc.PowerOn},
		"a machine that was off is off":       {bmc.PowerOff, bmc.PowerOff},
		"a machine never looked at is off":    {bmc.PowerUnknown, bmc.PowerOff},
		"a machine between the states is off": {bmc.PoweringOn, bmc.PowerOff},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := open(t, fake.New(fake.Delays{}), bmc.Target{LastPower: c.row}).Power(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, have)
		})
	}
}

func TestADelayEndsWithTheContextAndChangesNothing(t *testing.T) {
	t.Parallel()
	d := fake.New(fake.Delays{Power: fake.Delay{Min: time.Hour, Max: time.Hour}})
	s := open(t, d, bmc.Target{LastPower: bmc.PowerOff})

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.Equal(t, fault.Unreachable, fault.KindOf(s.RequestPower(ctx, bmc.RequestOn)))

	reason := fault.New(fault.Lost, "taken away")
	lost, lose := context.WithCancelCause(t.Context())
	lose(reason)
	err := s.Restart(lost)
	require.ErrorIs(t, err, reason)
	require.Equal(t, fault.Lost, fault.KindOf(err))

	have, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOff, have)
}

func TestEachInterfaceTakesItsOwnDelay(t *testing.T) {
	t.Parallel()
	never := fake.Delay{Min: time.Hour, Max: time.Hour}
	for name, c := range map[string]struct {
		delays fake.Delays
		call   func(context.Context, bmc.Session) error
	}{
		"power requests take power_delay": {fake.Delays{Power: never}, func(ctx context.Context, s bmc.Session) error {
			return s.RequestPower(ctx, bmc.RequestOn)
		}},
		"the boot override takes management_delay": {fake.Delays{Management: never}, func(ctx context.Context, s bmc.Session) error {
			return s.SetBoot(ctx, bmc.Boot{Device: bmc.DevicePXE})
		}},
		"virtual media take boot_delay": {fake.Delays{Boot: never}, func(ctx context.Context, s bmc.Session) error {
			return s.InsertMedia(ctx, "http://192.0.2.1/a.iso")
		}},
		"inspection takes inspect_delay": {fake.Delays{Inspect: never}, func(ctx context.Context, s bmc.Session) error {
			_, err := s.Inspect(ctx)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.ErrorIs(t, c.call(ctx, open(t, fake.New(c.delays), bmc.Target{})), context.DeadlineExceeded)
			require.NoError(t, c.call(t.Context(), open(t, fake.New(fake.Delays{}), bmc.Target{})))
		})
	}
}

func TestTwoNodesDifferAndOneNodeStaysTheSame(t *testing.T) {
	t.Parallel()
	inspect := func(node string) bmc.Inventory {
		inv, err := open(t, fake.New(fake.Delays{}), bmc.Target{Node: node}).Inspect(t.Context())
		require.NoError(t, err)
		return inv
	}
	first, again, other := inspect("a"), inspect("a"), inspect("b")
	require.Equal(t, first, again)
	require.NotEqual(t, first.NICs[0].MAC, other.NICs[0].MAC)
}

func TestAGuardThatLostTheClaimIsHeardAfterwards(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	s := open(t, fake.New(fake.Delays{}), bmc.Target{LastPower: bmc.PowerOn, Guard: func(context.Context, bmc.Request) (time.Time, error) { return time.Time{}, lost }})
	require.ErrorIs(t, s.RequestPower(t.Context(), bmc.RequestForceOff), lost)
	have, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, bmc.PowerOn, have)
}
