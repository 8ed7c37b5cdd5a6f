package conductor

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since the host was booted, with the time in which it was suspended.
// Go's monotonic clock stands still in a suspend, and the wall clock may be set while steps run.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Since(started) // a kernel before 2.6.39
	}
	return time.Duration(now.Nano())
}
