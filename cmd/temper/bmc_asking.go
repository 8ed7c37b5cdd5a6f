package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/text"
)

// tellEvery is the pause between two lines about the progress of a command.
const tellEvery = 5 * time.Second

// asking tells on standard error which BMC a command asks, that it still waits and until when, and collects how long the BMC took for
// each answer. Nobody else would say that a BMC is silent before the command gives up.
type asking struct {
	to     io.Writer
	whom   string        // the BMC: "https://10.0.0.7 over Redfish"
	within time.Duration // how long one answer is awaited
	every  time.Duration // between two lines

	mu    sync.Mutex
	took  []time.Duration
	heard time.Time // the newest answer; before the first one, when the command began to ask

	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// newAsking says whom the command asks, and goes on to tell until end.
func newAsking(to io.Writer, whom string, within, every time.Duration) *asking {
	a := &asking{to: to, whom: whom, within: within, every: every, heard: time.Now(), stop: make(chan struct{})}
	fmt.Fprintf(to, "temper: asking %s; %s\n", whom, a.limit(time.Now()))
	a.done.Go(a.tell)
	return a
}

// limit says until when the answer is awaited that is awaited now.
func (a *asking) limit(now time.Time) string {
	return fmt.Sprintf("without an answer it gives up at %s (--timeout %s)", text.Clock(a.heard.Add(a.within), now), text.Duration(a.within))
}

func (a *asking) tell() {
	ticks := time.NewTicker(a.every)
	defer ticks.Stop()
	for {
		select {
		case <-a.stop:
			return
		case now := <-ticks.C:
			fmt.Fprintln(a.to, "temper: "+a.words(now))
		}
	}
}

// words say how far it is.
func (a *asking) words(now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	silent, n := now.Sub(a.heard).Round(time.Second), len(a.took)
	switch {
	case n == 0:
		return fmt.Sprintf("no answer from %s for %s; %s", a.whom, text.Duration(silent), a.limit(now))
	case silent >= a.every:
		return fmt.Sprintf("%s so far, and none for %s; %s", table.Count(n, "answer"), text.Duration(silent), a.limit(now))
	}
	return fmt.Sprintf("%s so far; the last one took %s", table.Count(n, "answer"), a.took[n-1].Round(time.Millisecond))
}

// answered is a redfish.Observer.
func (a *asking) answered(_, _ string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took, a.heard = append(a.took, took), time.Now()
}

// end ends what is told: nothing is written after it. It may be called twice.
func (a *asking) end() {
	a.once.Do(func() { close(a.stop) })
	a.done.Wait()
}

// answers says how fast a BMC answered; times in milliseconds.
type answers struct {
	Count   int     `json:"count"`
	Median  float64 `json:"median_ms"`
	P99     float64 `json:"p99_ms"`
	Longest float64 `json:"longest_ms"`
}

func (a *asking) summary() answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	sorted := slices.Sorted(slices.Values(a.took))
	n := len(sorted)
	if n == 0 {
		return answers{}
	}
	ms := func(i int) float64 { return float64(sorted[i].Microseconds()) / 1000 }
	return answers{Count: n, Median: ms(n / 2), P99: ms(min(n*99/100, n-1)), Longest: ms(n - 1)}
}
