package bmc

import (
	"context"
	"time"
)

// Clock reads and sets the clock of a BMC.
type Clock interface {
	ReadClock(ctx context.Context) (time.Time, error)
	// SetClock sets the clock. offset is the BMC's offset from UTC, such as +00:00; "" leaves it.
	SetClock(ctx context.Context, at time.Time, offset string) error
}

// NameSetClock is the name of the request to set the clock.
const NameSetClock = "set the clock of the BMC"
