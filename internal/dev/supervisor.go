package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/dev/devfile"
	"go.temper.dev/temper/internal/text"
)

// The pauses between restarts of a child that keeps dying.
const (
	firstPause  = 200 * time.Millisecond
	maxPause    = 10 * time.Second
	stableAfter = 30 * time.Second // a child that ran so long begins with firstPause again
)

// The pauses before it is said which processes a stop waits for.
const (
	firstWord = time.Second
	nextWord  = 5 * time.Second
)

// Spec is a process to run.
type Spec struct {
	Role, Name string
	// Stage orders the stop: the highest stage is stopped first, one stage at the same time.
	Stage int
	// Grace is how long it may take to stop before it is killed.
	Grace time.Duration
	// RestartHint says how a person can bring it back if it stays dead; nil = there is no hint. It is called when it has died.
	RestartHint func() string
	// Start starts it and returns once it is ready. It is called again for every restart.
	Start func(ctx context.Context) (Child, error)
}

func (s Spec) restartHint() string {
	if s.RestartHint == nil {
		return ""
	}
	return ". To bring it back: " + s.RestartHint()
}

// Child is a running process.
type Child interface {
	Pid() int
	// MetricsURL returns where it serves its metrics; "" = it has none.
	MetricsURL() string
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// End says how it ended. It must be called after Done only.
	End() string
	// Stop asks it to end, and kills it if ctx ends first. It returns when the process has ended.
	Stop(ctx context.Context) error
}

// Supervisor runs processes and reports when one dies. With Restart it starts a dead process again. The other processes go on
// either way.
type Supervisor struct {
	Restart bool
	// Say gets one line for people about each thing that happened.
	Say func(format string, args ...any)
	// Changed is called, one call at a time, with the processes that run whenever these have changed.
	Changed func([]devfile.Process)

	mu       sync.Mutex
	running  []entry
	life     context.Context // ends when the stop begins
	end      context.CancelFunc
	watchers sync.WaitGroup
}

type entry struct {
	Spec
	Child
}

// NewSupervisor returns a Supervisor without processes.
func NewSupervisor(restart bool, say func(string, ...any), changed func([]devfile.Process)) *Supervisor {
	s := &Supervisor{Restart: restart, Say: say, Changed: changed}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start starts processes at the same time, waits until all are ready, and watches them. After an error some of them may run,
// until Stop.
func (s *Supervisor) Start(ctx context.Context, specs ...Spec) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, spec := range specs {
		g.Go(func() error {
			c, err := s.start(ctx, spec)
			if err != nil {
				return fmt.Errorf("start %s: %w", spec.Name, err)
			}
			s.watchers.Go(func() { s.watch(spec, c) })
			return nil
		})
	}
	return g.Wait()
}

func (s *Supervisor) start(ctx context.Context, spec Spec) (Child, error) {
	c, err := spec.Start(ctx)
	if err != nil {
		return nil, err
	}
	if s.add(entry{spec, c}) {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spec.Grace)
	defer cancel()
	return nil, errors.Join(context.Canceled, c.Stop(ctx))
}

// add adds a process to the list, unless Stop was called.
func (s *Supervisor) add(r entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return false
	}
	s.running = append(s.running, r)
	s.Changed(s.processes())
	return true
}

// Refresh calls Changed as if there had been a change.
func (s *Supervisor) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Changed(s.processes())
}

// processes returns the running processes, sorted by stage and name. s.mu must be held.
func (s *Supervisor) processes() []devfile.Process {
	sorted := slices.SortedFunc(slices.Values(s.running), func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	list := make([]devfile.Process, len(sorted))
	for i, r := range sorted {
		list[i] = devfile.Process{Role: r.Role, Name: r.Name, Pid: r.Pid()}
		if url := r.MetricsURL(); url != "" {
			list[i].MetricsURL = &url
		}
	}
	return list
}

// watch reports when a child has ended and, with Restart, starts it again.
func (s *Supervisor) watch(spec Spec, c Child) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, maxPause
	for {
		since := time.Now()
		<-c.Done()
		if s.remove(c) {
			return // Stop ended it
		}
		if !s.Restart {
			s.Say("%s (pid %d) %s; it stays dead, the others go on%s", spec.Name, c.Pid(), c.End(), spec.restartHint())
			return
		}
		if time.Since(since) > stableAfter {
			pauses.Reset()
		}
		s.Say("%s (pid %d) %s; starting it again", spec.Name, c.Pid(), c.End())
		if c = s.restart(spec, pauses); c == nil {
			return
		}
		s.Say("%s runs again (pid %d)", spec.Name, c.Pid())
	}
}

// remove removes a child that has ended from the list, and reports whether Stop was called.
func (s *Supervisor) remove(c Child) (wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(r entry) bool { return r.Child == c })
	s.Changed(s.processes())
	return s.life.Err() != nil
}

// restart tries to start a process until it is ready. It returns nil if Stop was called.
func (s *Supervisor) restart(spec Spec, pauses backoff.BackOff) Child {
	c, err := backoff.Retry(s.life, func() (Child, error) { return s.start(s.life, spec) },
		backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			s.Say("%s does not start, next try in %s: %v", spec.Name, next.Round(10*time.Millisecond), err)
		}))
	if err != nil {
		return nil
	}
	return c
}

// Stop stops all processes, those of the highest stage first, each within its grace time. It returns when none is left.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	s.end() // under the lock, so that add adds no process after it
	s.mu.Unlock()
	for last := s.lastStage(); len(last) > 0; last = s.lastStage() {
		s.stopAll(last)
	}
	s.watchers.Wait()
}

// stopAll stops processes at the same time. It says which of them it waits for, and when they are killed, if that takes a while.
func (s *Supervisor) stopAll(list []entry) {
	began, ended := time.Now(), make(chan struct{})
	var wait sync.WaitGroup
	for _, r := range list {
		wait.Go(func() { s.stop(r) })
	}
	go func() {
		wait.Wait()
		close(ended)
	}()
	for pause := firstWord; ; pause = nextWord {
		select {
		case <-ended:
			return
		case <-time.After(pause):
			if left := s.left(list, began); left != "" {
				s.Say("waiting for %s", left)
			}
		}
	}
}

// left names those of the processes that still run, with when each is killed; "" if none does.
func (s *Supervisor) left(list []entry, began time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, r := range list {
		if slices.ContainsFunc(s.running, func(e entry) bool { return e.Child == r.Child }) {
			names = append(names, fmt.Sprintf("%s (pid %d, killed at %s)", r.Name, r.Pid(), text.Clock(began.Add(r.Grace), began)))
		}
	}
	return strings.Join(names, ", ")
}

// lastStage returns the running processes of the highest stage.
func (s *Supervisor) lastStage() []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last []entry
	for _, r := range s.running {
		if len(last) > 0 && r.Stage < last[0].Stage {
			continue
		}
		if len(last) > 0 && r.Stage > last[0].Stage {
			last = nil
		}
		last = append(last, r)
	}
	return last
}

func (s *Supervisor) stop(r entry) {
	ctx, cancel := context.WithTimeout(context.Background(), r.Grace)
	defer cancel()
	if err := r.Child.Stop(ctx); err != nil {
		s.Say("stop %s (pid %d): %v", r.Name, r.Pid(), err)
	}
	s.remove(r.Child)
}
