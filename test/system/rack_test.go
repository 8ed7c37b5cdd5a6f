package system_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/redfish"
	stacks "go.temper.dev/temper/test/stack"
)

// rack gives each server of a simulated rack to one test.
type rack struct {
	url     string
	prefix  string // of its nodes' names
	persona string // that the servers have; "" = any
	pool    *pool
}

// pool has the names of the servers that no test has yet, by persona.
type pool struct {
	mu   sync.Mutex
	free map[string][]string
}

// standard is the persona that answers as the standard says.
const standard = "generic"

// mixed are the personas of the stack's servers, in turn. Tests that need a server with the standard's way of inserting media, or one
// that is equal to that of another run, take it of the standard.
const mixed = "generic,generic,generic,generic,generic,generic," + redfish.AllPersonas

// findRack lists the servers of the rack at url.
func findRack(url, prefix string) (*rack, error) {
	a, err := request(http.MethodGet, url+"/servers", nil, nil)
	if err != nil {
		return nil, err
	}
	var all []server
	if err := a.Decode(&all); err != nil {
		return nil, err
	}
	r := &rack{url: url, prefix: prefix, pool: &pool{free: map[string][]string{}}}
	for _, s := range all {
		r.pool.free[s.Persona] = append(r.pool.free[s.Persona], s.Name)
	}
	return r, nil
}

// of returns the rack's servers of one persona.
func (r *rack) of(persona string) *rack {
	return &rack{url: r.url, prefix: r.prefix, persona: persona, pool: r.pool}
}

// take returns a server that no other test has. Which machine it is follows from the name of the test, so that a test always has
// the same.
func (r *rack) take(t *testing.T) string {
	t.Helper()
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	free := r.pool.free
	personas := []string{r.persona}
	if r.persona == "" {
		personas = slices.Sorted(maps.Keys(free))
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.Name())) // a hash takes everything
	first := int(h.Sum32() % uint32(len(personas)))
	for i := range personas { // a small rack has not all of them
		persona := personas[(first+i)%len(personas)]
		if names := free[persona]; len(names) > 0 {
			free[persona] = names[1:]
			t.Logf("%s is a %s", names[0], persona)
			return names[0]
		}
	}
	require.Fail(t, "the rack has too few servers for the tests")
	return ""
}

// server is a server of the rack, with what was done to it.
type server struct{ stacks.Server }

// login is the header of a request to the server's BMC.
func (s server) login() http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(s.Username+":"+s.Password))}}
}

type action = stacks.Action

// effects returns those actions of a list that had an effect.
func effects(all []action) []string {
	out := []string{}
	for _, a := range all {
		if a.Effect {
			out = append(out, a.String())
		}
	}
	return out
}

// steps returns the steps that agents were told to run, in order.
func (s server) steps() []string {
	out := []string{}
	for _, c := range s.Commands {
		if c.Step != "" && c.Answer == http.StatusOK {
			out = append(out, c.Step)
		}
	}
	return out
}

// clean returns an error unless the server is off, with no medium and no boot override.
func (s server) clean() error {
	var left []string
	if s.Powered {
		left = append(left, "it is on")
	}
	if s.Media != "" {
		left = append(left, "media "+s.Media+" is in")
	}
	if s.BootOverride != "" {
		left = append(left, "it is to boot from "+s.BootOverride)
	}
	if len(left) > 0 {
		return fmt.Errorf("%s: %s", s.Name, strings.Join(left, ", "))
	}
	return nil
}

func (r *rack) read(name string) (server, error) {
	a, err := request(http.MethodGet, r.url+"/servers/"+name, nil, nil)
	if err != nil {
		return server{}, err
	}
	if a.Status != http.StatusOK {
		return server{}, fmt.Errorf("server %s: %d: %s", name, a.Status, a.Body)
	}
	var s server
	err = a.Decode(&s)
	if s.Persona == "sushy-tools" && s.BootOverride == "Hdd" {
		s.BootOverride = "" // it can't be disabled, and the disk is what a server boots from without
	}
	return s, err
}

// fault is a fault of a server, as in the rack's API.
type fault struct {
	Kind    string `json:"kind"`
	When    string `json:"when,omitempty"`
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
	Count   int    `json:"count"`
	Delay   string `json:"delay,omitempty"`
}

// path returns the path of a fault of a server: where it has its system, if the path is system.
func (r *rack) path(t *testing.T, name, path string) string {
	t.Helper()
	if path != system {
		return path
	}
	sv, err := r.read(name)
	require.NoError(t, err)
	return sv.System
}

// spoil sets a server's faults; none deletes them.
func (r *rack) spoil(t *testing.T, name string, faults ...fault) {
	t.Helper()
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Path = r.path(t, name, faults[i].Path)
	}
	a, err := request(http.MethodPut, r.url+"/servers/"+name+"/faults", map[string]any{"faults": slices.Concat([]fault{}, faults)}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
}

// seeds keep the servers of racks apart: their MACs follow from it. The stack's own rack has 1.
var seeds atomic.Int64

// ownRack starts a rack besides the stack's own, whose agents call api; it ends with the test.
func ownRack(t *testing.T, api string, cfg sim.Config) *rack {
	t.Helper()
	seed := 1 + seeds.Add(1)
	cfg.Listen, cfg.APIURL, cfg.Seed = "127.0.0.1:0", api, seed
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	cfg.PowerDelay, cfg.BootDelay, cfg.StepDelay = 50*time.Millisecond, 100*time.Millisecond, 20*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan string, 1)
	go func() { ended <- sim.Run(ctx, cfg, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case url := <-ready:
		r, err := findRack(url, fmt.Sprintf("rack%d-", seed))
		require.NoError(t, err)
		return r
	case err := <-ended:
		ended <- nil
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "the rack did not come up")
	}
	return nil
}
