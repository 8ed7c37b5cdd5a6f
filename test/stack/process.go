package stack

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"go.temper.dev/temper/internal/dev/devfile"
)

// Process is a child process of the stack, as in dev.json.
type Process struct {
	Role string
	Name string
	PID  int

	MetricsURL string // "" = it has none
}

func processes(i devfile.Info) (all []Process) {
	for _, p := range i.Processes {
		one := Process{Role: p.Role, Name: p.Name, PID: p.Pid}
		if p.MetricsURL != nil {
			one.MetricsURL = *p.MetricsURL
		}
		all = append(all, one)
	}
	return all
}

// Of returns the processes of a role.
func (s *Stack) Of(role string) []Process {
	var out []Process
	for _, p := range s.Processes {
		if p.Role == role {
			out = append(out, p)
		}
	}
	return out
}

// Running returns the processes that run now, by name. Unlike Read, it may be called from several goroutines.
func (s *Stack) Running() (map[string]Process, error) {
	i, err := s.Info()
	by := map[string]Process{}
	for _, p := range processes(i) {
		by[p.Name] = p
	}
	return by, err
}

// Process returns a process that runs now, by its name. It may be called from several goroutines, too.
func (s *Stack) Process(name string) (Process, error) {
	by, err := s.Running()
	p, ok := by[name]
	if err == nil && !ok {
		err = fmt.Errorf("%s does not run", name)
	}
	return p, err
}

// Signal sends a signal to a process, by its name, and returns its pid.
func (s *Stack) Signal(name string, sig syscall.Signal) (int, error) {
	p, err := s.Process(name)
	if err != nil {
		return 0, err
	}
	if err := syscall.Kill(p.PID, sig); err != nil {
		return 0, fmt.Errorf("send %s to %s: %w", sig, name, err)
	}
	return p.PID, nil
}

// Freeze stops a process and all that it has started, as a host that hangs does, until thaw is called.
func (s *Stack) Freeze(name string) (thaw func(), err error) {
	p, err := s.Process(name)
	if err != nil {
		return nil, err
	}
	stopped := map[int]bool{}
	thaw = func() {
		for pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	}
	for more := true; more; { // processes that are started meanwhile are stopped in the next round
		more = false
		all, err := family(p.PID)
		if err != nil {
			thaw()
			return nil, err
		}
		for _, pid := range all {
			if !stopped[pid] {
				stopped[pid], more = true, true
				_ = syscall.Kill(pid, syscall.SIGSTOP) // as above
			}
		}
	}
	return thaw, nil
}

// family returns a process and all processes that it has started, parents first (proc(5), children).
func family(pid int) ([]int, error) {
	out := []int{pid}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if errors.Is(err, os.ErrNotExist) {
		return out, nil // it has just ended
	}
	for _, f := range strings.Fields(string(b)) {
		child, atoi := strconv.Atoi(f)
		more, of := family(child)
		out, err = append(out, more...), errors.Join(err, atoi, of)
	}
	return out, err
}

// PID returns the present pid of a process, by its name; 0 = it does not run.
func (s *Stack) PID(name string) int {
	p, err := s.Process(name)
	if err != nil {
		return 0
	}
	return p.PID
}
