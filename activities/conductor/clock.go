package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// clockSlack is how far a clock may be off that was just set: BMCs have seconds, and take their time.
const clockSlack = 10 * time.Second

// setBMCClock sets the clock of the BMC to the time that the step names, or to that of this conductor (Ironic redfish/management.py,
// set_bmc_clock). A time that is named counts from the beginning of the step, so that a step that runs again sets no earlier one.
func setBMCClock(ctx context.Context, t *task, step *node.Step) (outcome, error) {
	clock, err := t.clock(ctx)
	if err != nil {
		return 0, err
	}
	given, err := node.ParseClock(step.Args)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%w", err)
	}
	want := func() time.Time {
		if given.At.IsZero() {
			return time.Now().UTC()
		}
		return given.At.Add(time.Since(*step.StartedAt))
	}
	return done, t.setUnless(ctx, bmc.NameSetClock, func() (bool, string, error) {
		have, err := clock.ReadClock(ctx)
		off := want().Sub(have).Abs()
		return off <= clockSlack, "the time " + text.Moment(have), err
	}, func() error { return clock.SetClock(ctx, want(), given.Offset) })
}
