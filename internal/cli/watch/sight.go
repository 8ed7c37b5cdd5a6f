package watch

import (
	"fmt"
	"io"
	"time"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// sight says on standard error when operations can't be seen, because the API or its database is away, and when they can
// be seen again.
type sight struct {
	out   io.Writer
	now   func() time.Time
	since time.Time // the first request that failed; zero = they are seen
	err   error     // of the newest request that failed; nil = they are seen
	told  string    // what was said last about it
}

func (s *sight) lost() bool { return s.err != nil }

// lose notes that err keeps what from being seen. It returns what to say, "" if that was said already.
func (s *sight) lose(what string, err error) string {
	if !s.lost() {
		s.since = s.now()
	}
	s.err = err
	if why := client.Reason(err); why != s.told {
		s.told = why
		return fmt.Sprintf("temper: lost sight of %s: %v; it is tried again until Ctrl-C or the end of --timeout", what, err)
	}
	return ""
}

// regain notes that what is seen. It returns what to say, "" if it was seen before.
func (s *sight) regain(what string) string {
	if !s.lost() {
		return ""
	}
	words := fmt.Sprintf("temper: %s in sight again, after %s", what, table.Duration(s.now().Sub(s.since)))
	s.since, s.err, s.told = time.Time{}, nil, ""
	return words
}

// say writes words, if there are any, below what v shows.
func (s *sight) say(v View, words string) {
	if words != "" {
		v.interrupt()
		fmt.Fprintln(s.out, words)
	}
}
