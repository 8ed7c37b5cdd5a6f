package fake

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// maxDelay is the longest delay, longer than any step may take.
const maxDelay = 24 * time.Hour

// Delay is how long something takes: a random time from Min to Max, most often near
// Min. The zero value is no delay.
type Delay struct {
	Min, Max time.Duration
}

// ParseDelay reads Ironic's notation: "a" is a seconds, "a,b" a random time from
// a to b with a triangular distribution that peaks at a; "" is none. Seconds may
// have a fraction, and Go's units ("250ms") are understood as well.
func ParseDelay(s string) (Delay, error) {
	if strings.TrimSpace(s) == "" {
		return Delay{}, nil
	}
	first, second, ranged := strings.Cut(s, ",")
	low, err := parseSeconds(first)
	if err != nil {
		return Delay{}, err
	}
	high := low
	if ranged {
		if high, err = parseSeconds(second); err != nil {
			return Delay{}, err
		}
	}
	if high < low {
		return Delay{}, fault.New(fault.Invalid, "delay %.40q ends before it begins", s)
	}
	return Delay{Min: low, Max: high}, nil
}

func parseSeconds(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	d, err := time.ParseDuration(s)
	if seconds, ferr := strconv.ParseFloat(s, 64); ferr == nil && math.Abs(seconds) <= maxDelay.Seconds() {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 || d > maxDelay {
		return 0, fault.New(fault.Invalid, "delay %.40q is not a number of seconds from 0 to %d", s, int(maxDelay.Seconds()))
	}
	return d, nil
}

// At returns the delay for u in [0,1): the inverse of the cumulative triangular
// distribution whose mode is Min.
func (d Delay) At(u float64) time.Duration {
	return d.Max - time.Duration(float64(d.Max-d.Min)*math.Sqrt(1-u))
}

// Wait sleeps for a random time of the delay, or returns ctx's cause if ctx ends first.
func (d Delay) Wait(ctx context.Context) error {
	if d.Max <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d.At(rand.Float64()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
