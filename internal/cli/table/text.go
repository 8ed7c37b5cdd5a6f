package table

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.temper.dev/temper/internal/text"
)

// Optional returns s with before in front of it, or "" if s is empty.
func Optional(before, s string) string {
	if s == "" {
		return ""
	}
	return before + s
}

// OneLine makes text that somebody else wrote safe for one line of a terminal: it has no control characters, no line
// breaks, and nothing that changes the direction of writing. It returns "-" for an empty text.
func OneLine(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s))
	if s == "" {
		return "-"
	}
	return s
}

// Cell returns a JSON value as the text of a cell.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// YesNo returns "yes" or "no".
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Time returns a time in UTC, as it stands in logs and at other sites, or "" for nil.
func Time(t *time.Time) string {
	if t == nil {
		return ""
	}
	return text.Moment(*t)
}

// Duration returns a duration, to a tenth of a second below ten seconds and to a second above.
func Duration(d time.Duration) string {
	switch {
	case d < 0: // the clocks of two machines differ
		return "0s"
	case d < 10*time.Second:
		return text.Duration(d.Round(100 * time.Millisecond))
	}
	return text.Duration(d.Round(time.Second))
}

// Elapsed returns the duration from one time to another. A nil end means now; for a nil beginning it returns "".
func Elapsed(from, to *time.Time, now time.Time) string {
	switch {
	case from == nil:
		return ""
	case to == nil:
		to = &now
	}
	return Duration(to.Sub(*from))
}

// Age returns how long ago t was, in its largest unit: "12s", "5m", "3h", "2d". It is "" for nil.
func Age(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return text.Age(now.Sub(*t))
}

// Count returns "1 node", "2 nodes".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Clause returns a sentence without its full stop, to stand within another.
func Clause(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }
