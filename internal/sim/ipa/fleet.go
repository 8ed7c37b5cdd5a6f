// Package ipa is the ramdisk agent of simulated servers. It speaks the protocol
// of ironic-python-agent on both sides, a client of the API and a server of
// commands, and does to the simulated disk what it is told. It never touches
// anything but the server it runs on.
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
	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/sim/mischief"
)

// Version is the release the agents say they are.
const Version = "11.4.0"

// bodyLimit bounds a command: a config drive may be 64 MiB, in base64.
const bodyLimit = 96 << 20

// Config is what the agents of a rack share.
type Config struct {
	Client     *http.Client  // for the API and for images
	TimeScale  float64       // factor of every wait of the real agent
	StepDelay  time.Duration // how long a step takes beside its real work
	Inspection bool          // report the inventory to the API at each boot
	Seed       int64
	Log        *zap.Logger
	Observe    func(command, status string) // a command ended; may be nil
}

// Fleet is the agents that are up. It is safe for concurrent use.
type Fleet struct {
	cfg      Config
	api      atomic.Pointer[string]
	callback string
	cert     string

	mu     sync.Mutex
	agents map[string]*Agent
}

// NewFleet is a fleet without agents.
func NewFleet(cfg Config) *Fleet { return &Fleet{cfg: cfg, agents: map[string]*Agent{}} }

// Advertise tells, before the first agent, where they are reached: callback is
// a base URL that a server's name is added to, cert the PEM certificate of the
// listener there.
func (f *Fleet) Advertise(callback, cert string) { f.callback, f.cert = callback, cert }

// SetAPI tells where the API is, from the next request on.
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

// Run is one boot of one agent. It returns when power is over: the server is
// off. A dead agent stays until then, and answers nothing.
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

// Phase is what the agent of that server is doing: "" where there is none.
func (f *Fleet) Phase(name string) string {
	if a := f.agent(name); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.phase
	}
	return ""
}

// Serve answers a request to the agent of that server; r's path is the agent's
// own, from / on. Where no agent listens the connection ends without an answer.
func (f *Fleet) Serve(w http.ResponseWriter, r *http.Request, name string) {
	a := f.agent(name)
	if a == nil || !a.isServing() {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	e := mischief.Event{Method: r.Method, Path: r.URL.Path, Agent: true}
	var c agent.Command
	if r.Method == http.MethodPost && json.Unmarshal(body, &c) == nil {
		e.Commands = names(c)
	}
	a.s.Faults.Serve(w, r, e, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.serve(w, r, body)
	}), func() {})
}

// names is what faults may call a command: its full name, its bare name, and
// the step it runs.
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
