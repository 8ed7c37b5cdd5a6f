package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// plainEvery is how often progress is written as a new line if the output is no terminal.
const plainEvery = 2 * time.Second

// screen shows what happens: lines that stay and, on a terminal, one line that changes.
type screen struct {
	out   io.Writer
	live  bool
	start time.Time

	mu    sync.Mutex
	shown string // the changing line as it is shown now
	last  time.Time
}

func newScreen(out *os.File) *screen {
	return &screen{out: out, live: isatty.IsTerminal(out.Fd()) && os.Getenv("TERM") != "dumb", start: time.Now()}
}

// say writes a line that stays.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// progress replaces the changing line.
func (s *screen) progress(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == s.shown && !s.live {
		return
	}
	line := fmt.Sprintf("  %5.1fs  %s", time.Since(s.start).Seconds(), what)
	if s.live {
		fmt.Fprint(s.out, "\r\x1b[K\x1b[?7l"+line+"\x1b[?7h") // cut where the line ends, not wrapped
	} else if time.Since(s.last) >= plainEvery {
		fmt.Fprintln(s.out, line)
		s.last = time.Now()
	} else {
		return
	}
	s.shown = what
}

// end ends the changing line, so that a shell's prompt begins on a new one.
func (s *screen) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *screen) clear() {
	if s.live && s.shown != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	s.shown = ""
}

// tally counts equal words, for example "3 active, 9 deploying".
func tally(words []string) string {
	count := map[string]int{}
	for _, w := range words {
		count[w]++
	}
	var parts []string
	for _, w := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[w], w))
	}
	return strings.Join(parts, ", ")
}
