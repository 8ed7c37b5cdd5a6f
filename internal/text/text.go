// Package text has the few ways in which Temper's sentences are put together.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxWord bounds, in bytes, what a message repeats of a word that a client sent.
const maxWord = 64

// Cut returns word as a message may repeat it: at most 64 bytes of it, and "..." if
// there is more.
func Cut(word string) string {
	if len(word) > maxWord {
		return strings.ToValidUTF8(Truncate(word, maxWord, "..."), "")
	}
	return word
}

// Truncate returns s if it has at most limit bytes. Else it returns as many whole characters of s
// as fit into limit bytes, and suffix after them.
func Truncate(s string, limit int, suffix string) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + suffix
}

// Storable returns s as PostgreSQL can store it, in at most limit bytes: without zero bytes and
// without bytes that are no UTF-8. If something is cut off, the end is "...".
func Storable(s string, limit int) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) <= limit {
		return s
	}
	return Truncate(s, limit-len("..."), "...")
}

// TruncateRunes returns at most limit characters of s. If s has more, the last one is "…".
func TruncateRunes(s string, limit int) string { return TruncateRunesTo(s, limit, "…") }

// TruncateRunesTo returns s if it has at most limit characters. Else it returns the first
// characters of s and suffix, together limit characters.
func TruncateRunesTo(s string, limit int, suffix string) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-utf8.RuneCountInString(suffix)]) + suffix
	}
	return s
}

// Line turns what somebody sent into one line of at most limit runes, without what can't be printed. It reads no more of s than
// eight times as many bytes.
func Line(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return TruncateRunes(strings.Join(strings.Fields(s), " "), limit)
}

// Because returns a reason in parentheses, to be appended to a sentence; "" if there is
// no reason.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// Clause returns s without spaces around it and without its full stop, so that a longer
// sentence can contain it.
func Clause(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".") }

// Moment returns a time as sentences and tables contain it: UTC, to the second.
func Moment(t time.Time) string { return t.UTC().Format(time.DateTime + "Z") }

// Clock returns a time as sentences contain it that are read soon after now: the time of day in UTC, to the second, and the
// date only if it is another one than today.
func Clock(t, now time.Time) string {
	if t, now = t.UTC(), now.UTC(); t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format(time.TimeOnly + "Z")
	}
	return Moment(t)
}

// Age returns how old something is, in one unit: 12s, 4m, 3h, 5d. A negative age, as the clocks of two machines can give, is
// 0s.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Ago returns how long before now t was, to the second. It is never below zero,
// although the clocks of two machines may differ a little.
func Ago(now, t time.Time) time.Duration { return max(now.Sub(t), 0).Round(time.Second) }

// Duration returns d as flags and settings take it, without parts at its end that are zero: 24h, 1h30m, 3m20s, 500ms.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Since returns a time and how long ago it was, to be appended to a sentence; "" if t is
// nil.
func Since(t *time.Time, now time.Time) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(" since %s (%s)", Moment(*t), Duration(Ago(now, *t)))
}

// Span returns a duration as people say it, with at most two units: "1 d 3 h", "2 h 4 min",
// "4 min 10 s", "11 s", "0.3 s".
func Span(d time.Duration) string {
	d = max(d, 0)
	for _, u := range []struct {
		big, small  time.Duration
		name, below string
	}{
		{24 * time.Hour, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "min"}, {time.Minute, time.Second, "min", "s"},
	} {
		if d := d.Round(u.small); d >= u.big {
			words := fmt.Sprintf("%d %s", d/u.big, u.name)
			if rest := d % u.big / u.small; rest > 0 {
				words += fmt.Sprintf(" %d %s", rest, u.below)
			}
			return words
		}
	}
	if d >= 10*time.Second {
		return fmt.Sprintf("%d s", d.Round(time.Second)/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// sizes are the units of Size, the largest first.
var sizes = []struct {
	name  string
	bytes float64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}

// Size returns a number of bytes as the sizes of disks and images are written: in decimal units, with three digits at most.
func Size(bytes float64) string {
	for _, unit := range sizes {
		if bytes < unit.bytes {
			continue
		}
		value := bytes / unit.bytes
		digits := 2
		for whole := value; whole >= 10 && digits > 0; whole /= 10 {
			digits--
		}
		s := strconv.FormatFloat(value, 'f', digits, 64)
		if strings.Contains(s, ".") {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s + " " + unit.name
	}
	return fmt.Sprintf("%.0f B", bytes)
}

// Sizes returns two sizes as Size does or, if that would not tell them apart, in bytes.
func Sizes(a, b float64) (string, string) {
	if s, t := Size(a), Size(b); s != t || a == b {
		return s, t
	}
	return fmt.Sprintf("%.0f bytes", a), fmt.Sprintf("%.0f bytes", b)
}

// ShellWord returns word as a shell takes it for one word: quoted, if that is necessary.
func ShellWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;!#~") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Count returns n and what is counted: one if n is 1, else more.
func Count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Some names the first of count things, and says how many more there are.
func Some(names []string, count int) string {
	list := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Capital returns s, which is not "", with a capital letter at its beginning.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
