package node

import (
	"fmt"
	"regexp"
	"time"
)

// StepSetBMCClock and its arguments have Ironic's names.
const (
	StepSetBMCClock   = "set_bmc_clock"
	ArgTargetDatetime = "target_datetime"
	ArgLocalOffset    = "datetime_local_offset"
)

// setsClock is the step of the management interfaces that can set the clock of the BMC.
var setsClock = StepSpec{Step: StepSetBMCClock, NoRamdisk: true, Args: map[string]ArgSpec{
	ArgTargetDatetime: {Description: "The time to set, in ISO 8601, such as 2026-11-28T12:00:00+00:00. Default: that of the conductor", Check: checkClock(ArgTargetDatetime)},
	ArgLocalOffset:    {Description: "The BMC's offset from UTC, such as +00:00. Default: as it is", Check: checkClock(ArgLocalOffset)},
}}

// GivenClock is what a step sets a clock to.
type GivenClock struct {
	At     time.Time // zero = that of the conductor
	Offset string    // "" = as it is
}

var utcOffset = regexp.MustCompile(`^[+-]\d\d:\d\d$`)

func checkClock(arg string) func(any) error {
	return func(v any) error {
		_, err := ParseClock(map[string]any{arg: v})
		return err
	}
}

// ParseClock reads the arguments of the step.
func ParseClock(args map[string]any) (g GivenClock, err error) {
	if v, given := args[ArgTargetDatetime]; given && v != nil {
		text, _ := v.(string)
		if g.At, err = time.Parse(time.RFC3339, text); err != nil {
			return g, fmt.Errorf("%s must be a time in ISO 8601 with an offset, such as 2026-11-28T12:00:00+00:00", ArgTargetDatetime)
		}
	}
	if v, given := args[ArgLocalOffset]; given && v != nil {
		g.Offset, _ = v.(string)
		if !utcOffset.MatchString(g.Offset) {
			return g, fmt.Errorf("%s must be an offset from UTC, such as +00:00", ArgLocalOffset)
		}
	}
	return g, nil
}
