package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"go.temper.dev/temper/test/stack"
)

// floorCount is how many deploys, give-backs or empty workflows run at once.
const floorCount = 100

// benchFloor compares deploys and give-backs with workflows that do in Temporal what they do there, and nothing else. They take turns on
// one stack. What is left between them is Temper's own; the statements of its database are listed by name.
func benchFloor(ctx context.Context, o options) error {
	fmt.Printf("# The engine's floor: %d deploys, give-backs and empty workflows with the same history at once, in turns, medians of %d rounds\n", floorCount, o.rounds)
	dir, err := stack.MakeFolder()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	conf := stack.Config{Temper: o.temper, Dir: dir, Args: []string{"--nodes", "0", "--enroll=false", "--conductors", "2", "--drivers", "fake-hardware"}}
	s, err := conf.Start(ctx)
	if err != nil {
		return err
	}
	err = floorRounds(ctx, s, o.rounds)
	if err == nil {
		err = loadStatements(ctx, s)
	}
	if err = errors.Join(err, s.End()); err != nil {
		return err
	}
	if s, err = conf.Start(ctx); err != nil {
		return err
	}
	return errors.Join(showStatements(ctx, s), s.End())
}

// floor is the empty workflows' processes, and how many workflows were started.
type floor struct {
	url, kind string
	temporal  client.Client
	pids      map[string][]int // by role
	started   int64
	stop      func()
}

// floorRounds runs the rounds and prints what an operation costs.
func floorRounds(ctx context.Context, s *stack.Stack, rounds int) error {
	f, err := startFloors(ctx, s)
	if err != nil {
		return err
	}
	defer f.stop()
	if err := s.Prepare(ctx, floorCount); err != nil {
		return err
	}
	before, began := f.usage(s), time.Now()
	time.Sleep(30 * time.Second)
	idle := per(since(before, f.usage(s)), time.Since(began).Seconds())
	legs := []*leg{
		{name: "deploy", run: func() (time.Duration, error) { return s.Move(ctx, floorCount, "available", "active", "active") }},
		{name: "give-back", run: func() (time.Duration, error) { return s.Move(ctx, floorCount, "active", "deleted", "available") }},
		{name: "floor", run: func() (time.Duration, error) { return f.run(ctx) }},
	}
	for round := range rounds + 1 { // the first warms up
		if err := setImage(s, ctx); err != nil {
			return err
		}
		turns := legs
		if round%2 == 1 {
			turns = []*leg{legs[2], legs[0], legs[1]}
		}
		for _, l := range turns {
			if err := l.turn(func() map[string]time.Duration { return f.usage(s) }, idle, round > 0); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
	}
	printLegs(legs)
	return f.printHistories(ctx, s)
}

// leg is one of the things that take turns, and what its rounds have cost.
type leg struct {
	name      string
	run       func() (time.Duration, error)
	perMinute []float64
	cpu       map[string][]float64 // ms for each, by role; without what the idle stack costs
}

func (l *leg) turn(usage func() map[string]time.Duration, idle map[string]float64, counts bool) error {
	before, began := usage(), time.Now()
	took, err := l.run()
	if err != nil || !counts {
		return err
	}
	used, seconds := since(before, usage()), time.Since(began).Seconds()
	l.perMinute = append(l.perMinute, floorCount/took.Minutes())
	if l.cpu == nil {
		l.cpu = map[string][]float64{}
	}
	total := 0.0
	for role, ms := range used {
		ms = max(ms-seconds*idle[role], 0) / floorCount
		total += ms
		l.cpu[role] = append(l.cpu[role], ms)
	}
	l.cpu["total"] = append(l.cpu["total"], total)
	return nil
}

func printLegs(legs []*leg) {
	deploy, back, floor := legs[0], legs[1], legs[2]
	fmt.Printf("  %-20s %10s %10s %10s %14s %17s\n", "", deploy.name, back.name, floor.name, "deploy/floor", "give-back/floor")
	line := func(what string, of func(*leg) []float64) {
		a, b, c := middle(of(deploy)), middle(of(back)), middle(of(floor))
		fmt.Printf("  %-20s %10.1f %10.1f %10.1f %14.2f %17.2f\n", what, a, b, c, a/c, b/c)
	}
	line("a minute", func(l *leg) []float64 { return l.perMinute })
	for _, role := range slices.Sorted(maps.Keys(floor.cpu)) {
		line("ms "+role, func(l *leg) []float64 { return l.cpu[role] })
	}
}

// since returns the milliseconds of each role between two readings.
func since(before, after map[string]time.Duration) map[string]float64 {
	out := map[string]float64{}
	for role := range after {
		out[role] = float64((after[role] - before[role]).Microseconds()) / 1000
	}
	return out
}

func per(used map[string]float64, seconds float64) map[string]float64 {
	for role := range used {
		used[role] /= seconds
	}
	return used
}

// startFloors starts the processes of the floor: as many of each role as the stack has.
func startFloors(ctx context.Context, s *stack.Stack) (*floor, error) {
	t, err := client.DialContext(ctx, client.Options{HostPort: s.TemporalAddress, Namespace: s.TemporalNamespace})
	if err != nil {
		return nil, err
	}
	f := &floor{kind: floorType, temporal: t, pids: map[string][]int{}, stop: t.Close}
	for _, role := range []string{floorOrchestrator, floorConductor, floorAPI} {
		for range s.Of(role) {
			first, err := f.start(ctx, role, s.TemporalAddress)
			if err != nil {
				f.stop()
				return nil, err
			}
			f.url = "http://" + first // that of the API, which is the last
		}
	}
	return f, nil
}

// start starts this program as a process of the floor, and returns the first line that it prints.
func (f *floor) start(ctx context.Context, role, temporal string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, self, "--floor", role, "--temporal", temporal)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	stop := f.stop
	f.stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		stop()
	}
	f.pids[role] = append(f.pids[role], c.Process.Pid)
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), err
}

// usage is the processor time of the stack's processes and the floor's, by role: an orchestrator of either is one.
func (f *floor) usage(s *stack.Stack) map[string]time.Duration {
	out := usage(s)
	delete(out, "rack")
	for role, pids := range f.pids {
		for _, pid := range pids {
			out[role] += cpuOf(pid)
		}
	}
	return out
}

// run starts the workflows, as clients of the API start deploys, and waits until they have ended. It asks as often as stack.Move does.
func (f *floor) run(ctx context.Context) (time.Duration, error) {
	began, numbers := time.Now(), make([]int64, floorCount)
	for i := range numbers {
		f.started++
		numbers[i] = f.started
	}
	if err := stack.Each(numbers, floorCount, func(number int64) error { return f.put(ctx, number) }); err != nil {
		return 0, err
	}
	for ; ; time.Sleep(250 * time.Millisecond) {
		ended, err := f.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowType = '" + f.kind + "' AND ExecutionStatus = 'Completed'"})
		if err != nil {
			return 0, err
		}
		if ended.GetCount() == f.started {
			return time.Since(began), nil
		}
		if time.Since(began) > 5*time.Minute {
			return 0, fmt.Errorf("%d of %d empty workflows have ended", ended.GetCount(), f.started)
		}
	}
}

func (f *floor) put(ctx context.Context, number int64) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("%s/%d", f.url, number), http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("start an empty workflow: %s", res.Status)
	}
	return nil
}

// printHistories prints how long the histories are, so that a deploy which has got more events is noticed.
func (f *floor) printHistories(ctx context.Context, s *stack.Stack) error {
	for _, kind := range []string{"deploy", "undeploy"} {
		events, bytes, err := historyOf(s, ctx, f.temporal, kind)
		if err != nil {
			return err
		}
		fmt.Printf("  history of a %-9s %5.1f events, %6.0f bytes\n", kind+":", events, bytes)
	}
	page, err := f.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = '" + f.kind + "'", PageSize: 1})
	if err != nil {
		return err
	}
	for _, w := range page.GetExecutions() {
		fmt.Printf("  history of the floor:    %5.1f events, %6d bytes\n", float64(w.GetHistoryLength()), w.GetHistorySizeBytes())
	}
	return nil
}
