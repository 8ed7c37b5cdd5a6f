package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

// A conductor that takes a step over does not set its clock back.
func TestTheClockOfAStepRunsOnWhenAnotherConductorTakesItOver(t *testing.T) {
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	usual := Usual{MS: 60_000, Samples: EnoughSamples, Basis: UsualOfStep}
	o := &Operation{UsualTimes: map[string]Usual{"deploy.deploy": usual}, Steps: []Step{
		{Interface: "power", Step: StepOff}, {Index: 1, Interface: "deploy", Step: StepDeploy, State: StepPending, StartedAt: &began},
	}}
	step := &o.Steps[1]
	o.Expect(step, began)
	step.State = StepRunning
	until := *o.UsualUntil
	require.Equal(t, began.Add(100*time.Second), until)
	later := began.Add(time.Hour)
	o.Expect(step, later)
	require.Equal(t, until, *o.UsualUntil)

	o.Steps[0].EndedAt, o.UsualUntil = &later, nil // a power request that was done in the middle of it
	o.Expect(step, later)
	require.Equal(t, later.Add(100*time.Second), *o.UsualUntil)
	o.Expect(step, later.Add(time.Minute)) // a conductor takes it over again
	require.Equal(t, later.Add(100*time.Second), *o.UsualUntil)
	step.State = StepPending // somebody has decided to retry it
	o.Steps[0].EndedAt = nil
	o.Expect(step, later.Add(time.Hour))
	require.Equal(t, later.Add(time.Hour+100*time.Second), *o.UsualUntil)
}

func TestWithFewSamplesOnlyAWriteIsExpectedToEnd(t *testing.T) {
	now := time.Now()
	for name, want := range map[string]*time.Duration{StepWriteImage: new(UnmeasuredWrite), StepDeploy: nil} {
		o := &Operation{UsualTimes: map[string]Usual{"deploy." + name: {MS: 1, Samples: EnoughSamples - 1}}, Steps: []Step{{Interface: "deploy", Step: name}}}
		o.Expect(&o.Steps[0], now)
		if want == nil {
			require.Nil(t, o.UsualUntil, name)
			continue
		}
		require.Equal(t, now.Add(*want), *o.UsualUntil)
	}
}

func TestWhatGetsNoFurtherIsLate(t *testing.T) {
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	write := &Step{Interface: "deploy", Step: StepWriteImage}
	erase := &Step{Interface: "deploy", Step: "erase_devices"}
	for name, c := range map[string]struct {
		step  *Step
		speed func(time.Duration) float64 // what is done
		late  time.Duration               // since began; 0 = never
		slow  bool
	}{
		"fast":                          {write, func(d time.Duration) float64 { return d.Minutes() / 10 }, 0, false},
		"slow":                          {write, func(d time.Duration) float64 { return d.Hours() / 2 }, 30 * time.Second, true},
		"slow, but nobody knows how so": {erase, func(d time.Duration) float64 { return d.Hours() / 2 }, 0, false},
		"stuck at half":                 {write, func(d time.Duration) float64 { return min(d.Minutes()/2, 0.5) }, time.Minute + StallLimit, false},
		"stuck at the beginning":        {erase, func(time.Duration) float64 { return 0 }, 10*time.Second + StallLimit, false},
	} {
		w := &Wait{Since: began}
		var late time.Duration
		for d := 10 * time.Second; d <= 5*time.Minute; d += 10 * time.Second {
			w.Advance(c.speed(d), 0, began.Add(d))
			w.Pace(c.step, began.Add(d))
			if w.Late(began.Add(d)) && late == 0 {
				late = w.LateAt.Sub(began)
			}
		}
		require.Equal(t, c.late, late, name)
		require.Equal(t, c.slow, w.Slow, name)
	}
}
