// Package ipa simulates the ramdisk agent (ironic-python-agent): it is a client of the API
// and a server of commands, which it carries out on the simulated disk. It never changes
// anything but the server that it runs on.
package ipa

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// Version is the agents' version.
const Version = "11.4.0"

// bodyLimit is the largest command: a config drive may have 64 MiB, in base64.
const bodyLimit = 96 << 20

// Config has the settings that the agents of a rack share.
type Config struct {
	Client     *http.Client  // for the API and for images
	TimeScale  float64       // factor of every wait of the real agent
	StepDelay  time.Duration // how long a step takes beside its real work
	Inspection bool          // report the inventory to the API at each boot
	NoProgress bool          // tell of a running command only that it runs, as ironic-python-agent does
	Seed       int64
	Log        *zap.Logger
	Observe    func(command, status string) // a command ended; may be nil
}

// Fleet has the agents that are up. It is safe for concurrent use.
type Fleet struct {
	cfg      Config
	api      atomic.Pointer[string]
	callback string
	cert     string

	mu     sync.Mutex
	agents map[string]*Agent
}

// NewFleet returns a fleet without agents.
func NewFleet(cfg Config) *Fleet { return &Fleet{cfg: cfg, agents: map[string]*Agent{}} }

// Advertise sets how the agents are reached, before the first of them runs: callback is the
// base URL to which a server's name is appended, cert the listener's PEM certificate.
func (f *Fleet) Advertise(callback, cert string) { f.callback, f.cert = callback, cert }

// SetAPI sets the API's URL, from the next request on.
func (f *Fleet) SetAPI(url string) {
	url = strings.TrimRight(url, "/")
	f.api.Store(&url)
}

func (f *Fleet) apiURL() string {
	if u := f.api.Load(); u != nil {
		return *u
	}
	return ""
}

// Run runs an agent until power ends, because the server is switched off or restarted. A
// dead agent stays until then and does not answer.
func (f *Fleet) Run(power context.Context, s *machine.Server, boot int, saved *machine.AgentMemory) {
	ctx, die := context.WithCancel(power)
	defer die()
	a := &Agent{
		fleet: f, s: s, boot: boot, die: die, ctx: ctx, started: time.Now(), force: make(chan struct{}, 1),
		log: f.cfg.Log.With(zap.String("server", s.Name), zap.Int("boot", boot)),
		rng: rand.New(rand.NewPCG(uint64(f.cfg.Seed)+uint64(boot), uint64(s.Index()))), // jitter
	}
	f.mu.Lock()
	f.agents[s.Name] = a
	f.mu.Unlock()
	a.run(saved)
	a.stopServing()
	<-power.Done()
	f.mu.Lock()
	if f.agents[s.Name] == a {
		delete(f.agents, s.Name)
	}
	f.mu.Unlock()
	a.work.Wait()
}

func (f *Fleet) agent(name string) *Agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.agents[name]
}

// Phase returns what the agent of that server is doing, "" if there is none.
func (f *Fleet) Phase(name string) string {
	if a := f.agent(name); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.phase
	}
	return ""
}

// Serve answers a request to the agent of that server. r's path is relative to the agent. If
// no agent listens, it closes the connection without an answer.
func (f *Fleet) Serve(w http.ResponseWriter, r *http.Request, name string) {
	a := f.agent(name)
	if a == nil || !a.isServing() {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	e := faults.Event{Method: r.Method, Path: r.URL.Path, Agent: true}
	var c agent.Command
	if r.Method == http.MethodPost && json.Unmarshal(body, &c) == nil {
		e.Commands = names(c)
	}
	a.s.Faults.Serve(w, r, e, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serve(w, r, body)
	}), func() {})
}

// names returns the names of a command that a fault may have: the full name, the bare name,
// and the step that it runs.
func names(c agent.Command) []string {
	out := []string{c.Name, agent.BareName(c.Name)}
	if s := stepOf(c); s != "" {
		out = append(out, s)
	}
	return out
}

func stepOf(c agent.Command) string {
	if !strings.Contains(c.Name, ".execute_") {
		return ""
	}
	var p struct {
		Step struct {
			Step string `json:"step"`
		} `json:"step"`
	}
	if json.Unmarshal(c.Params, &p) != nil {
		return ""
	}
	return p.Step.Step
}
