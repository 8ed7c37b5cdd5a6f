package activities_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// setup are the BIOS settings of a machine. A boot applies what is pending.
type setup struct {
	bmc.BIOS
	written int
	resets  int
	answer  error // to a request that takes effect
	refuses error // no request takes effect
	ignores bool  // the boot drops what is pending
	slow    bool  // the test says when the boot applies what is pending
	hidden  bool  // it shows no passwords
	reads   int   // of the registry
}

func (s *setup) boot() {
	if s.slow {
		return
	}
	if !s.ignores {
		maps.Copy(s.Values, s.Pending)
	}
	s.Pending = map[string]any{}
}

type biosSession struct {
	*session
	setup *setup
}

func (s biosSession) BIOS(context.Context) (bmc.BIOS, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.setup.BIOS
	b.Values, b.Pending = maps.Clone(b.Values), maps.Clone(b.Pending)
	if s.setup.hidden {
		b.Values["AdminPassword"], b.Pending["AdminPassword"] = nil, nil
	}
	return b, nil
}

func (s biosSession) BIOSRegistry(_ context.Context, name string) (map[string]node.BIOSSetting, error) {
	s.setup.reads++
	kind := "Enumeration of " + name
	return map[string]node.BIOSSetting{"Turbo": {Name: "Turbo", Type: &kind, Allowed: []string{"On", "Off"}}}, nil
}

func (s biosSession) SetBIOS(ctx context.Context, values map[string]any) error {
	if err := s.write(ctx, bmc.NameSetBIOS(values)); err != nil {
		return err
	}
	if s.setup.refuses != nil {
		return s.setup.refuses
	}
	s.setup.written++
	maps.Copy(s.setup.Pending, values)
	return s.setup.answer
}

func (s biosSession) ResetBIOS(ctx context.Context) error {
	if err := s.write(ctx, bmc.NameResetBIOS); err != nil {
		return err
	}
	s.setup.resets++
	s.setup.Pending = map[string]any{"Turbo": "On", "Nodes": json.Number("1"), "Quiet": true}
	return s.setup.answer
}

// biosBench cleans a node by hand with one step of the interface bios, without an agent.
func biosBench(t *testing.T, step string, settings ...any) (*bench, *setup) {
	t.Helper()
	asked := node.Step{Interface: "bios", Step: step, Asked: true}
	if settings != nil {
		asked.Args = map[string]any{"settings": settings}
	}
	interfaces := maps.Clone(direct)
	interfaces["bios"] = "redfish"
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOff, interfaces, plan.Options{DisableRamdisk: true}, asked)
	s := &setup{BIOS: bmc.BIOS{Registry: "R", Values: map[string]any{"Turbo": "On", "Nodes": json.Number("1"), "Quiet": true}, Pending: map[string]any{}}}
	b.machine.setup = s
	b.steps.Settings.BIOSTimeout, b.steps.Settings.BIOSPoll = 30*time.Millisecond, 5*time.Millisecond
	b.steps.Settings.BIOSBoot = 10 * time.Millisecond
	return b, s
}

func setting(name string, value any) map[string]any {
	return map[string]any{"name": name, "value": value}
}

// kept returns the BIOS settings that clients can list.
func (b *bench) kept() (out node.BIOSReading) {
	b.Helper()
	r, err := b.book.KeptReading(b.Context(), b.node().ID, "bios")
	require.NoError(b, err)
	require.NotNil(b, r)
	require.NoError(b, json.Unmarshal(r.Data, &out))
	return out
}

func TestBIOSSettingsAreWrittenAppliedByABootAndReadBack(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "apply_configuration", setting("Turbo", "Off"), setting("Nodes", "2"), setting("Quiet", "false"))
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, map[string]any{"Turbo": "Off", "Nodes": json.Number("2"), "Quiet": false}, s.Values)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked, "it was off")
	require.Equal(t, 1, s.written)
	kept := b.kept()
	require.Equal(t, "R", kept.Registry)
	require.Equal(t, []string{"Nodes", "Quiet", "Turbo"}, []string{kept.Settings[0].Name, kept.Settings[1].Name, kept.Settings[2].Name})
	require.Equal(t, []string{"2", "False", "Off"}, []string{*kept.Settings[0].Value, *kept.Settings[1].Value, *kept.Settings[2].Value})
	require.Equal(t, []string{"On", "Off"}, kept.Settings[2].Allowed)
}

func TestBIOSSettingsThatAreSoAreLeft(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "apply_configuration", setting("Turbo", "On"), setting("Nodes", 1))
	_, err := b.run()
	require.NoError(t, err)
	require.Zero(t, s.written)
	require.Empty(t, b.machine.asked)
	require.Len(t, b.kept().Settings, 3)

	b, s = biosBench(t, "apply_configuration", setting("Turbo", "On"))
	s.Pending["Turbo"] = "Off" // somebody else wants it otherwise
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.written)
	require.Equal(t, "On", s.Values["Turbo"])
}

// A value that the BMC does not show, as of a password, may be any. It is written, once.
func TestABIOSSettingThatIsNotShownIsWritten(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "apply_configuration", setting("AdminPassword", "hunter2"))
	s.Values["AdminPassword"], s.hidden = nil, true
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.written)
	require.Equal(t, "hunter2", s.Values["AdminPassword"])
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
	b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.written)
}

// The conductor died at each of these places. Whoever takes the step over does not write what is written, and boots once.
func TestBIOSSettingsAreWrittenOnceWhoeverDies(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unreachable, "%w", fault.NoAnswerError("no answer in time"))
	for name, c := range map[string]struct {
		prepare func(b *bench, s *setup)
		mend    func(b *bench, s *setup)
		failed  bool // the first attempt fails
		writes  int
	}{
		"an answer that is lost":         {func(_ *bench, s *setup) { s.answer = lost }, func(_ *bench, s *setup) { s.answer = nil }, true, 1},
		"a death after the write":        {func(_ *bench, s *setup) { s.Pending = map[string]any{"Turbo": "Off"} }, nil, false, 0},
		"a death after the power was on": {func(b *bench, _ *setup) { b.machine.answer = once(lost) }, nil, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := biosBench(t, "apply_configuration", setting("Turbo", "Off"))
			c.prepare(b, s)
			_, err := b.run()
			require.Equal(t, c.failed, err != nil, "%v", err)
			if c.mend != nil {
				c.mend(b, s)
				_, err = b.run()
				require.NoError(t, err)
			}
			b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning }) // as if nobody had recorded its end
			b.steps.Settings.Conductor = "c2"
			_, err = b.run()
			require.NoError(t, err)
			require.Equal(t, c.writes, s.written)
			require.Equal(t, "Off", s.Values["Turbo"])
			require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
		})
	}
}

// once is an answer of a machine to power requests that takes effect, and the first one is lost.
func once(lost error) func(bmc.PowerRequest) (bool, error) {
	return func(bmc.PowerRequest) (bool, error) {
		err := lost
		lost = nil
		return true, err
	}
}

func TestABIOSSettingThatIsRefusedOrIgnoredIsNamed(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "apply_configuration", setting("Turbo", "Off"), setting("Nodes", 2))
	s.ignores = true
	s.Messages = []string{"Turbo depends on Quiet."}
	_, err := b.run()
	require.True(t, final(err))
	step := b.op().Steps[0]
	require.Equal(t, fault.BIOSSettingIgnored, step.Cause)
	require.Contains(t, step.LastError, `BIOS setting Nodes is "1" and not "2", Turbo is "On" and not "Off"; the BMC says: Turbo depends on Quiet.`)
	require.Len(t, b.kept().Settings, 3)
	s.ignores = false // whoever retries the step has changed something
	b.changeOp(func(o *node.Operation) { o.Steps[0].Again() })
	require.NoError(t, b.again())
	require.Equal(t, 2, s.written)
	require.Equal(t, "Off", s.Values["Turbo"])
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn, bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)

	b, _ = biosBench(t, "apply_configuration", setting("Turbo", "Off"), setting("Nonsense", 2))
	_, err = b.run()
	require.True(t, final(err))
	require.Contains(t, b.op().Steps[0].LastError, "BIOS setting Nonsense: the server has no such setting")
	require.Equal(t, fault.BIOSSettingRefused, b.op().Steps[0].Cause)
	require.Zero(t, b.machine.writes)

	b, s = biosBench(t, "apply_configuration", setting("Turbo", "Fast"))
	s.refuses = fault.CodedAs(fault.Refused, fault.BIOSSettingRefused, "BIOS setting Turbo: 400")
	_, err = b.run()
	require.True(t, final(err))
	require.Equal(t, fault.BIOSSettingRefused, b.op().Steps[0].Cause)
	require.Empty(t, b.machine.asked, "the server is not booted")
}

func TestBIOSSettingsAreReset(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "factory_reset")
	s.Values = map[string]any{"Turbo": "Off", "Nodes": json.Number("4"), "Quiet": false}
	b.machine.power = bmc.PowerOn
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, map[string]any{"Turbo": "On", "Nodes": json.Number("1"), "Quiet": true}, s.Values)
	b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 1, s.resets)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
}

// The firmware resets the settings while it tests the hardware. Until then the BMC shows the old ones, and perhaps how the boot before has ended.
func TestTheBIOSSettingsAreReadWhenTheFirmwareHasReset(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string][]string{
		"a BMC that shows how far the boot is": {"OSRunning", "OSRunning", "None", "MemoryInitializationStarted", "OSBootStarted"},
		"a BMC that does not":                  {"", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := biosBench(t, "factory_reset")
			s.slow, s.Values["Turbo"] = true, "Off"
			b.steps.Settings.BIOSTimeout, b.steps.Settings.BIOSBoot, b.steps.Settings.BIOSPoll = time.Minute, time.Minute, time.Millisecond
			if shown[0] == "" {
				b.steps.Settings.BIOSBoot = 300 * time.Millisecond
			}
			looks := 0
			b.machine.progress = func() string { return shown[min(looks, len(shown)-1)] }
			b.machine.onPowerRead = func() error {
				b.machine.mu.Lock()
				defer b.machine.mu.Unlock()
				if b.machine.power == bmc.PowerOn {
					if looks++; looks == len(shown)-1 {
						maps.Copy(s.Values, s.Pending)
					}
				}
				return nil
			}
			_, err := b.run()
			require.NoError(t, err)
			kept := b.kept()
			require.Equal(t, "On", *kept.Settings[2].Value)
		})
	}
}

func TestARegistryOfBIOSSettingsIsReadOnceForItsName(t *testing.T) {
	t.Parallel()
	b, s := biosBench(t, "apply_configuration", setting("Turbo", "On"))
	again := func() {
		b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
		_, err := b.run()
		require.NoError(t, err)
	}
	again()
	again()
	require.Equal(t, 1, s.reads)
	require.Equal(t, "Enumeration of R", *b.kept().Settings[2].Type)
	s.Registry = "R2"
	again()
	require.Equal(t, 2, s.reads)
	require.Equal(t, "Enumeration of R2", *b.kept().Settings[2].Type)
}

// Where an agent runs the steps, the server boots into it again, and the steps after this one have it.
func TestAServerBootsIntoTheAgentToApplyBIOSSettings(t *testing.T) {
	t.Parallel()
	interfaces := maps.Clone(direct)
	interfaces["bios"] = "redfish"
	asked := node.Step{Interface: "bios", Step: "apply_configuration", Asked: true, Args: map[string]any{"settings": []any{setting("Turbo", "Off")}}}
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOn, interfaces, plan.Options{}, asked)
	s := &setup{BIOS: bmc.BIOS{Values: map[string]any{"Turbo": "On"}, Pending: map[string]any{}}}
	b.machine.setup = s
	b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepDone })
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
	require.Equal(t, []string{"http://images/deploy.iso"}, b.machine.images)
	require.Equal(t, node.CleanWait, b.node().ProvisionState)

	require.NoError(t, b.book.agentCalls(t.Context(), node.Agent{URL: "https://192.0.2.50:9999"}, "token"))
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, "Off", s.Values["Turbo"])
	require.Equal(t, 1, s.written)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn, bmc.RequestForceOff}, b.machine.asked, "the end of the cleaning switches it off")
}

// The conductor died when the server was off. What it is booted into does not depend on an agent that is forgotten then.
func TestAServerBootsIntoTheAgentAlsoIfTheConductorDiesWhileItIsOff(t *testing.T) {
	t.Parallel()
	interfaces := maps.Clone(direct)
	interfaces["bios"] = "redfish"
	asked := node.Step{Interface: "bios", Step: "factory_reset", Asked: true}
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOff, interfaces, plan.Options{}, asked)
	b.machine.setup = &setup{BIOS: bmc.BIOS{Values: map[string]any{"Turbo": "On"}, Pending: map[string]any{}}}
	now := time.Now().UTC()
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State = node.StepDone
		o.Steps[1].State, o.Steps[1].Written, o.Steps[1].Phase = node.StepRunning, &now, node.PhaseOff
	})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{"http://images/deploy.iso"}, b.machine.images)
}
