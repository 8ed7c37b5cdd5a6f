package dev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"
)

// The pauses between restarts of a child that keeps dying, and how long it must have lived to begin anew with them.
const (
	firstPause = 200 * time.Millisecond
	mostPause  = 10 * time.Second
	livedLong  = 30 * time.Second
)

// Spec is a process to run.
type Spec struct {
	Role, Name string
	// Stage orders the stop: the highest stage is stopped first, one stage at the same time.
	Stage int
	// Grace is how long it may take to stop before it is killed.
	Grace time.Duration
	// Again says how a person brings it back once it stays dead; "" = nothing is said. It is called then.
	Again func() string
	// Start runs it and returns when it is ready. It is called again for every restart.
	Start func(ctx context.Context) (Child, error)
}

func (s Spec) again() string {
	if s.Again == nil {
		return ""
	}
	return ". To bring it back: " + s.Again()
}

// Child is a process that runs.
type Child interface {
	Pid() int
	// MetricsURL is where its metrics are; "" = it has none.
	MetricsURL() string
	// Done is closed when it has ended, for whatever reason.
	Done() <-chan struct{}
	// End says how it ended, for people; only after Done.
	End() string
	// Stop ends it: asks, and kills when ctx is done. It returns when the process is gone.
	Stop(ctx context.Context) error
}

// Process is a child as dev.json shows it.
type Process struct {
	Role       string  `json:"role"`
	Name       string  `json:"name"`
	Pid        int     `json:"pid"`
	MetricsURL *string `json:"metrics_url"` // null where it has none
}

// Supervisor runs processes and shows when one dies. A dead one stays dead, or is started again with Restart; the
// others go on either way.
type Supervisor struct {
	Restart bool
	// Say gets one line for people about each thing that happened.
	Say func(format string, args ...any)
	// Changed is called, one call at a time, with the processes that run whenever these have changed.
	Changed func([]Process)

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

// NewSupervisor makes a Supervisor of no processes.
func NewSupervisor(restart bool, say func(string, ...any), changed func([]Process)) *Supervisor {
	s := &Supervisor{Restart: restart, Say: say, Changed: changed}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Start runs processes at the same time, waits until all are ready, and watches them. With an error some of them may
// run; Stop ends these.
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

// add puts a process on the list, unless the stop has begun.
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

// processes are those that run, in the order of their stages and names; s.mu is held.
func (s *Supervisor) processes() []Process {
	sorted := slices.SortedFunc(slices.Values(s.running), func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	list := make([]Process, len(sorted))
	for i, r := range sorted {
		list[i] = Process{Role: r.Role, Name: r.Name, Pid: r.Pid()}
		if url := r.MetricsURL(); url != "" {
			list[i].MetricsURL = &url
		}
	}
	return list
}

// watch shows a child's end and, where that is wanted, starts it again.
func (s *Supervisor) watch(spec Spec, c Child) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, mostPause
	for {
		since := time.Now()
		<-c.Done()
		if s.gone(c) {
			return // we ended it
		}
		if !s.Restart {
			s.Say("%s (pid %d) %s; it stays dead, the others go on%s", spec.Name, c.Pid(), c.End(), spec.again())
			return
		}
		if time.Since(since) > livedLong {
			pauses.Reset()
		}
		s.Say("%s (pid %d) %s; starting it again", spec.Name, c.Pid(), c.End())
		if c = s.revive(spec, pauses); c == nil {
			return
		}
		s.Say("%s runs again (pid %d)", spec.Name, c.Pid())
	}
}

// gone takes a child that ended off the list, and says whether that was our doing.
func (s *Supervisor) gone(c Child) (wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(r entry) bool { return r.Child == c })
	s.Changed(s.processes())
	return s.life.Err() != nil
}

// revive starts a process again until it is ready; nil = the stop has begun.
func (s *Supervisor) revive(spec Spec, pauses backoff.BackOff) Child {
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

// Stop ends all processes, the highest stage first, each within its grace time, and returns when none is left.
func (s *Supervisor) Stop() {
	s.mu.Lock()
	s.end() // under the lock: whoever is not on the list by now will not get there
	s.mu.Unlock()
	for last := s.lastStage(); len(last) > 0; last = s.lastStage() {
		var wait sync.WaitGroup
		for _, r := range last {
			wait.Go(func() { s.stop(r) })
		}
		wait.Wait()
	}
	s.watchers.Wait()
}

// lastStage are the running processes of the highest stage.
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
		s.Say("stop %s: %v", r.Name, err)
	}
	s.gone(r.Child)
}
