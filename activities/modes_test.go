package activities_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// lights are the modes, lights and virtual drives of a server.
type lights struct {
	mode    bmc.Mode
	modes   []bmc.Mode
	secure  bool
	all     []node.Indicator
	drives  []bmc.Media
	ejected []string
	sent    []string
	answer  error // to a request that takes effect
	refusal error // of a request, which has no effect
	ignores bool  // it accepts requests and does nothing
	unnamed bool  // it does not show which image is in a drive
}

type lightSession struct {
	*session
	*lights
}

func (s lightSession) do(ctx context.Context, name string, effect func()) error {
	if err := s.write(ctx, name); err != nil {
		return err
	}
	if s.refusal != nil {
		return s.refusal
	}
	s.sent = append(s.sent, name)
	if !s.ignores {
		effect()
	}
	return s.answer
}

func (s lightSession) BootMode(context.Context) (bmc.Mode, []bmc.Mode, error) {
	return s.mode, s.modes, nil
}

func (s lightSession) SetBootMode(ctx context.Context, m bmc.Mode) error {
	return s.do(ctx, bmc.NameBootMode(m), func() { s.mode = m })
}

func (s lightSession) SecureBoot(context.Context) (*bool, error) { on := s.secure; return &on, nil }

func (s lightSession) SetSecureBoot(ctx context.Context, on bool) error {
	return s.do(ctx, bmc.NameSecureBoot(on), func() { s.secure = on })
}

func (s lightSession) ReadIndicators(context.Context) ([]node.Indicator, error) { return s.all, nil }

func (s lightSession) SetIndicator(ctx context.Context, component, name, state string) error {
	return s.do(ctx, bmc.NameIndicator(component, name, state), func() { s.all[0].State = state })
}

func (s lightSession) ReadDrives(context.Context, string) ([]bmc.Media, []node.MediaDrive, error) {
	var shown []node.MediaDrive
	for _, d := range s.drives {
		shown = append(shown, node.MediaDrive{Types: []string{"CD"}, Inserted: d.Inserted, Image: d.Image})
	}
	if s.unnamed {
		plain := slices.Clone(s.drives)
		for i := range plain {
			plain[i].Image = ""
		}
		return plain, shown, nil
	}
	return s.drives, shown, nil
}

func (s lightSession) AttachMedia(ctx context.Context, _, url string) error {
	return s.do(ctx, bmc.NameInsert(url), func() { s.drives[len(s.drives)-1] = bmc.Media{Inserted: true, Image: url} })
}

func (s lightSession) EjectDrives(ctx context.Context, kind string) error {
	return s.do(ctx, bmc.NameEjectDrives(kind), func() { s.ejected = append(s.ejected, kind) })
}

const toolsISO = "http://images/tools.iso"

// request is what a kind of request to the management interface is tried with.
type request struct {
	kind node.OperationKind
	args map[string]any
	name string // of what it sends
}

var requests = []request{
	{node.KindBootMode, map[string]any{"target": "bios"}, "boot mode bios"},
	{node.KindSecureBoot, map[string]any{"target": true}, "Secure Boot true"},
	{node.KindIndicator, map[string]any{"component": "chassis", "indicator": "1", "state": "ON"}, "light 1 of the chassis ON"},
	{node.KindAttachMedia, map[string]any{"device_type": "cdrom", "image_url": toolsISO}, bmc.NameInsert(toolsISO)},
}

func lightBench(t *testing.T, k node.OperationKind, args map[string]any) (*bench, *lights) {
	b := newBench(t, k, node.Active, bmc.PowerOn, direct, plan.Options{Args: args})
	l := &lights{
		mode: bmc.ModeUEFI, drives: []bmc.Media{{Inserted: true, Image: "http://images/deploy.iso"}, {}},
		all: []node.Indicator{{Component: "chassis", Name: "1", State: "OFF", States: []string{"ON", "OFF"}}},
	}
	b.machine.lights, b.machine.within = l, 20*time.Millisecond
	return b, l
}

func TestARequestIsSentOnceAndNotIfItIsAsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			b, l := lightBench(t, c.kind, c.args)
			for range 2 { // it runs again, as after a crash
				b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
				r, err := b.run()
				require.NoError(t, err)
				require.Equal(t, conductor.NextClose, r.Next)
				require.Equal(t, []string{c.name}, l.sent)
			}
			require.Equal(t, "http://images/deploy.iso", l.drives[0].Image, "the medium of somebody else stays")
			require.Empty(t, b.machine.asked, "the power stays")
		})
	}
}

func TestAMediumIsAttachedWhereTheBMCDoesNotShowItsImage(t *testing.T) {
	t.Parallel()
	b, l := lightBench(t, node.KindAttachMedia, map[string]any{"device_type": "cdrom", "image_url": toolsISO})
	l.unnamed = true
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{bmc.NameInsert(toolsISO)}, l.sent)
}

func TestARequestWhoseAnswerIsLostIsReadBack(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			b, l := lightBench(t, c.kind, c.args)
			if l.answer = lostAnswer; c.kind == node.KindAttachMedia {
				l.answer = fault.New(fault.OutcomeUnknown, "sent, outcome unknown")
			}
			if _, err := b.run(); err != nil {
				require.False(t, final(err))
				l.answer = nil
				_, err = b.run()
				require.NoError(t, err)
			}
			require.Equal(t, []string{c.name}, l.sent)
		})
	}
}

func TestARequestThatTheBMCRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range requests {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			b, l := lightBench(t, c.kind, c.args)
			l.refusal = fault.New(fault.Refused, "400 Bad Request")
			_, err := b.run()
			require.True(t, final(err))
			require.NotEmpty(t, b.op().Steps[0].Cause)

			b.machine.lights = nil
			b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
			_, err = b.run()
			require.ErrorContains(t, err, "does not support "+c.kind.Spec().Step)
		})
	}
}

func TestTheNodeShowsTheModesThatWereRead(t *testing.T) {
	t.Parallel()
	b, _ := lightBench(t, node.KindBootMode, map[string]any{"target": "bios"})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, "bios", b.node().BootMode)
	require.Nil(t, b.node().SecureBoot)

	b, l := lightBench(t, node.KindSecureBoot, map[string]any{"target": false})
	l.secure = true
	_, err = b.run()
	require.NoError(t, err)
	require.False(t, *b.node().SecureBoot)

	b, l = lightBench(t, node.KindBootMode, map[string]any{"target": "bios"})
	l.ignores = true
	_, err = b.run()
	require.ErrorContains(t, err, "the BMC took boot mode bios but shows uefi")
	require.Empty(t, b.node().BootMode)
}

func TestModesThatTheServerLacks(t *testing.T) {
	t.Parallel()
	b, l := lightBench(t, node.KindBootMode, map[string]any{"target": "bios"})
	l.modes = []bmc.Mode{bmc.ModeUEFI}
	_, err := b.run()
	require.ErrorContains(t, err, "can't boot in the mode bios")
	require.True(t, final(err))

	b, l = lightBench(t, node.KindSecureBoot, map[string]any{"target": true})
	l.mode = bmc.ModeBIOS
	_, err = b.run()
	require.ErrorContains(t, err, "set the boot mode uefi first")
	require.Equal(t, fault.BootModeRefused, b.op().Steps[0].Cause)
	require.Empty(t, l.sent)
}

func TestLightsThatTheServerLacks(t *testing.T) {
	t.Parallel()
	for words, args := range map[string]map[string]any{
		`no light "9"`:   {"component": "chassis", "indicator": "9", "state": "ON"},
		`can't be BLINK`: {"component": "chassis", "indicator": "1", "state": "BLINKING"},
	} {
		b, l := lightBench(t, node.KindIndicator, args)
		_, err := b.run()
		require.ErrorContains(t, err, words)
		require.True(t, final(err))
		require.Empty(t, l.sent)
	}
}

func TestVirtualDrivesOfSomeTypesAreEmptied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args map[string]any
		want []string
	}{
		{map[string]any{}, []string{""}},
		{map[string]any{"device_types": []any{"cdrom", "disk"}}, []string{"cd", "usb"}},
	} {
		b, l := lightBench(t, node.KindDetachMedia, c.args)
		l.answer = lostAnswer
		_, err := b.run()
		require.False(t, final(err))
		l.answer, l.ejected = nil, nil
		_, err = b.run()
		require.NoError(t, err)
		require.Equal(t, c.want, l.ejected, "the driver looks at each drive before it ejects its medium")
	}
}

func TestLightsAndDrivesAreReadWithoutSecrets(t *testing.T) {
	t.Parallel()
	b, l := lightBench(t, node.KindIndicator, requests[2].args)
	l.drives[0].Image = "http://images/a.iso?token=hunter2"
	var out node.BMCReading
	for _, what := range []node.Reading{node.ReadIndicators, node.ReadMedia} {
		var s testsuite.WorkflowTestSuite
		env := s.NewTestActivityEnvironment()
		env.RegisterActivity(b.steps)
		v, err := env.ExecuteActivity(b.steps.ReadBMC, conductor.ReadInput{Node: uuid, What: what})
		require.NoError(t, err)
		require.NoError(t, v.Get(&out))
	}
	require.Equal(t, l.all, out.Indicators)
	require.Len(t, out.Media, 2)
	require.NotContains(t, out.Media[0].Image, "hunter2")
}
