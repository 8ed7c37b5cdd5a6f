package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.temper.dev/temper/test/stack"
)

// operationRow is an operation as the API shows it.
type operationRow struct {
	ID        string `json:"id"`
	Node      string `json:"node_uuid"`
	State     string `json:"state"`
	Conductor string `json:"conductor"`
	Steps     []struct {
		State     string `json:"state"`
		Conductor string `json:"conductor"`
		Attempts  int    `json:"attempts"`
	} `json:"steps"`
}

func running(s *stack.Stack, ctx context.Context) ([]operationRow, error) {
	var page struct {
		Operations []operationRow `json:"operations"`
	}
	err := s.Call(ctx, http.MethodGet, "/temper/v1/operations?state=running&limit=1000", nil, &page)
	return page.Operations, err
}

// benchHandOver measures how long a step is interrupted when its conductor is killed, stopped
// or cut off from Temporal.
func benchHandOver(ctx context.Context, o options) error {
	fmt.Println("# Seconds from the loss of a conductor to its step running elsewhere, default settings")
	fmt.Println("  Ironic 21.4: 85 to 110 after kill -9, and the deploy fails; goals: kill < 8, stop < 0.5, black hole < 10")
	s, err := longSteps(ctx, o, "")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	for _, way := range []lossWay{{"SIGKILL", syscall.SIGKILL, 8 * time.Second}, {"SIGTERM", syscall.SIGTERM, 500 * time.Millisecond}} {
		if err := way.measure(s, ctx, o); err != nil {
			return err
		}
	}
	return benchBlackHole(s, ctx, o)
}

// benchAggressive measures the same for SIGKILL with the shortest timeouts of docs/tuning.md.
func benchAggressive(ctx context.Context, o options) error {
	fmt.Println("# The same with heartbeat_timeout 2s, bmc_request_timeout 1500ms; goal: kill < 4")
	s, err := longSteps(ctx, o, "heartbeat_timeout: 2s\nbmc_request_timeout: 1500ms\nconductor_heartbeat_interval: 1s\nconductor_heartbeat_timeout: 6s\n")
	if err != nil {
		return err
	}
	defer func() { _ = s.Stop() }()
	return lossWay{"SIGKILL", syscall.SIGKILL, 4 * time.Second}.measure(s, ctx, o)
}

// longSteps starts a stack with four deploys, each in a step that takes an hour.
func longSteps(ctx context.Context, o options, settings string) (*stack.Stack, error) {
	s, err := stack.Start(ctx, o.temper, settings+"fake:\n  deploy_delay: \"3600\"\n", "--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware")
	if err != nil {
		return nil, err
	}
	err = func() error {
		if err := s.Prepare(ctx, 4); err != nil {
			return err
		}
		if err := setImage(s, ctx); err != nil {
			return err
		}
		nodes, err := s.Nodes(ctx)
		if err != nil {
			return err
		}
		return stack.Each(nodes, 4, func(n stack.Node) error {
			return s.Call(ctx, http.MethodPut, "/v1/nodes/"+n.UUID+"/states/provision", map[string]any{"target": "active"}, nil)
		})
	}()
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// lossWay is a way to lose a conductor, and how long a step may then take to move.
type lossWay struct {
	name string
	sig  syscall.Signal
	goal time.Duration
}

func (w lossWay) measure(s *stack.Stack, ctx context.Context, o options) error {
	var took []time.Duration
	for i := range o.kills {
		d, err := loseOne(s, ctx, o, fmt.Sprintf("%s-%d", w.name, i), w.sig)
		if err != nil {
			return fmt.Errorf("%s %d: %w", w.name, i, err)
		}
		took = append(took, d...)
	}
	within := 0
	for _, d := range took {
		if d < w.goal {
			within++
		}
	}
	fmt.Printf("  %s: %d steps moved, median %.2f s, longest %.2f s, %d of %d under %s\n",
		w.name, len(took), median(took).Seconds(), longest(took).Seconds(), within, len(took), w.goal)
	return nil
}

// loseOne ends the conductor that has most steps and waits until each of them
// runs elsewhere; then a new conductor takes its place.
func loseOne(s *stack.Stack, ctx context.Context, o options, replacement string, sig syscall.Signal) ([]time.Duration, error) {
	victim, ops, err := busiest(s, ctx)
	if err != nil {
		return nil, err
	}
	pid, err := pidOf(s, victim)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := syscall.Kill(pid, sig); err != nil {
		return nil, err
	}
	took, err := awaitElsewhere(s, ctx, victim, ops, began)
	if err != nil {
		return nil, err
	}
	return took, addConductor(s, ctx, o, replacement, s.TemporalAddress)
}

// busiest returns the conductor with the most running steps, and their operations.
func busiest(s *stack.Stack, ctx context.Context) (string, []string, error) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		ops, err := running(s, ctx)
		if err != nil {
			return "", nil, err
		}
		if best, its, _ := mostSteps(ops); best != "" && len(ops) == 4 {
			return best, its, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", nil, fmt.Errorf("the operations were not all running within 30 s")
}

// mostSteps returns the conductor with the most of these steps, its operations, and how many
// steps have no conductor.
func mostSteps(ops []operationRow) (best string, its []string, idle int) {
	by := map[string][]string{}
	for _, op := range ops {
		by[op.Conductor] = append(by[op.Conductor], op.ID)
	}
	for c, ids := range by {
		if c != "" && len(ids) > len(by[best]) {
			best = c
		}
	}
	return best, by[best], len(by[""])
}

func awaitElsewhere(s *stack.Stack, ctx context.Context, victim string, ops []string, began time.Time) ([]time.Duration, error) {
	return awaitMoved(s, ctx, victim, ops, began, 10*time.Millisecond, func(c string, runs bool) bool { return runs && c != victim })
}

// awaitMoved waits until all of the operations have left the victim, and returns how long
// that took for each. left reports whether one has left it, given the conductor of its
// running step; runs is false if no step runs.
func awaitMoved(s *stack.Stack, ctx context.Context, victim string, ops []string, began time.Time, pause time.Duration, left func(conductor string, runs bool) bool) ([]time.Duration, error) {
	waiting := map[string]bool{}
	for _, id := range ops {
		waiting[id] = true
	}
	var took []time.Duration
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(pause) {
		now, err := running(s, ctx)
		if err != nil {
			return nil, err
		}
		at := map[string]string{}
		for _, op := range now {
			at[op.ID] = op.Conductor
		}
		for id := range waiting {
			if conductor, runs := at[id]; left(conductor, runs) {
				delete(waiting, id)
				took = append(took, time.Since(began))
			}
		}
		if len(waiting) == 0 {
			return took, nil
		}
	}
	return nil, fmt.Errorf("%d steps did not move from %s within 2 minutes", len(waiting), victim)
}

var extra sync.Map // name -> *exec.Cmd of conductors started by hand

func pidOf(s *stack.Stack, name string) (int, error) {
	if c, ok := extra.Load(name); ok {
		return c.(*exec.Cmd).Process.Pid, nil
	}
	if err := s.Read(); err != nil {
		return 0, err
	}
	for _, p := range s.Processes {
		if p.Name == name {
			return p.PID, nil
		}
	}
	return 0, fmt.Errorf("no process for conductor %s", name)
}

// addConductor starts a conductor as an operator would, and waits until it is alive.
func addConductor(s *stack.Stack, ctx context.Context, o options, name, temporal string) error {
	log, err := os.Create(filepath.Join(s.Dir, name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.temper, "conductor", "--name", name, "--enabled-drivers", "fake-hardware",
		"--config", filepath.Join(s.Dir, "settings.yaml"), "--metrics-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "TEMPER_DATABASE_URL="+s.DatabaseURL, "TEMPER_TEMPORAL_ADDRESS="+temporal,
		"TEMPER_TEMPORAL_NAMESPACE=temper", "TEMPER_KEYSET_FILE="+filepath.Join(s.Dir, "data", "keyset.json"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	extra.Store(name, cmd)
	go func() { _ = cmd.Wait() }()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		var list struct {
			Conductors []struct {
				Hostname string `json:"hostname"`
				Alive    bool   `json:"alive"`
			} `json:"conductors"`
		}
		if err := s.Call(ctx, http.MethodGet, "/v1/conductors", nil, &list); err != nil {
			return err
		}
		for _, c := range list.Conductors {
			if c.Hostname == name && c.Alive {
				return nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("conductor %s was not alive within 20 s; see %s", name, log.Name())
}

// benchBlackHole cuts a conductor off from Temporal without closing its connections.
func benchBlackHole(s *stack.Stack, ctx context.Context, o options) error {
	hole, err := newHole(s.TemporalAddress)
	if err != nil {
		return err
	}
	defer hole.close()
	if err := addConductor(s, ctx, o, "behind-the-hole", hole.address()); err != nil {
		return err
	}
	// All other conductors are stopped, so that the steps move to the one behind the hole.
	victims, err := others(s, ctx, "behind-the-hole")
	if err != nil {
		return err
	}
	for _, v := range victims {
		if pid, err := pidOf(s, v); err == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		best, ops, err := busiest(s, ctx)
		if err != nil {
			return err
		}
		if best == "behind-the-hole" && len(ops) == 4 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the steps did not move to the conductor behind the hole")
		}
	}
	if err := addConductor(s, ctx, o, "rescuer", s.TemporalAddress); err != nil {
		return err
	}
	_, ops, err := busiest(s, ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	hole.swallow()
	took, err := awaitElsewhere(s, ctx, "behind-the-hole", ops, began)
	if err != nil {
		return err
	}
	fmt.Printf("  black hole between conductor and Temporal: %d steps moved, median %.2f s, longest %.2f s\n",
		len(took), median(took).Seconds(), longest(took).Seconds())
	return nil
}

func others(s *stack.Stack, ctx context.Context, but string) ([]string, error) {
	var list struct {
		Conductors []struct {
			Hostname string `json:"hostname"`
			Alive    bool   `json:"alive"`
		} `json:"conductors"`
	}
	if err := s.Call(ctx, http.MethodGet, "/v1/conductors", nil, &list); err != nil {
		return nil, err
	}
	var out []string
	for _, c := range list.Conductors {
		if c.Alive && c.Hostname != but {
			out = append(out, c.Hostname)
		}
	}
	return out, nil
}

// hole is a TCP relay that can stop passing bytes while its connections stay open.
type hole struct {
	listener net.Listener
	to       string
	gone     chan struct{}
	once     sync.Once
}

func newHole(to string) (*hole, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	h := &hole{listener: l, to: to, gone: make(chan struct{})}
	go h.serve()
	return h, nil
}

func (h *hole) address() string { return h.listener.Addr().String() }
func (h *hole) swallow()        { h.once.Do(func() { close(h.gone) }) }
func (h *hole) close()          { h.swallow(); _ = h.listener.Close() }

func (h *hole) serve() {
	for {
		a, err := h.listener.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", h.to)
		if err != nil {
			_ = a.Close()
			continue
		}
		go h.relay(a, b)
		go h.relay(b, a)
	}
}

// relay passes bytes until the hole opens; after that it reads them and drops them.
func (h *hole) relay(dst io.Writer, src io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-h.gone:
			continue
		default:
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}
