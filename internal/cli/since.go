package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// sinceFlag is a flag that takes a time in the past.
type sinceFlag struct {
	time.Time
	now func() time.Time
}

// addSince adds --since. Its time is zero if the flag is not set.
func addSince(c *cobra.Command, now func() time.Time) *sinceFlag {
	f := &sinceFlag{now: now}
	c.Flags().Var(f, "since", "only what was accepted since then: a `TIME` such as 2026-01-02T15:04:05Z or 2026-01-02, or how long ago, such as 90m, 24h or 7d")
	return f
}

// String is the flag's value in help.
func (f *sinceFlag) String() string {
	if f.IsZero() {
		return ""
	}
	return f.Format(time.RFC3339)
}

// Type is the flag's type in help.
func (*sinceFlag) Type() string { return "TIME" }

// days are a duration that package time does not know.
var days = regexp.MustCompile(`^(\d{1,5})d$`)

// Set takes the flag's value. A time without a zone is in UTC, as all times in tables.
func (f *sinceFlag) Set(v string) error {
	if d := days.FindStringSubmatch(v); d != nil {
		n, err := strconv.Atoi(d[1])
		f.Time = f.now().AddDate(0, 0, -n)
		return err
	}
	if ago, err := time.ParseDuration(v); err == nil && ago > 0 {
		f.Time = f.now().Add(-ago)
		return nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, v); err == nil {
			f.Time = at
			return nil
		}
	}
	return fmt.Errorf("want a time such as 2026-01-02T15:04:05Z, or how long ago, such as 24h or 7d")
}
