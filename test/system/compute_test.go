package system_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	stacks "go.temper.dev/temper/test/stack"
)

// computes are the compute services of a test, each a process.
type computes struct {
	t     *testing.T
	s     *stack
	dir   string
	group string

	mu   sync.Mutex
	all  []*computeProcess
	seen int // how many rounds the readers have done
	free int // the largest number of free nodes that a round saw
}

// computeProcess is one process of a service; several may have the same name.
type computeProcess struct {
	*dev.Running
	host, name string
	frozen     bool
}

// settings writes the settings file that a service reads at its start and on SIGHUP.
func (c *computes) settings(host string, key string, peers ...string) string {
	c.t.Helper()
	lines := []string{"api_url: " + c.s.APIURL, "peer_list: '" + strings.Join(peers, ",") + "'"}
	if key != "-" {
		lines = append(lines, fmt.Sprintf("partition_key: %q", key))
	}
	path := filepath.Join(c.dir, host+".yaml")
	require.NoError(c.t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// start starts one more process of a service.
func (c *computes) start(host string) *computeProcess {
	c.t.Helper()
	c.mu.Lock()
	name := fmt.Sprintf("%s-%d", host, len(c.all))
	c.mu.Unlock()
	p := &computeProcess{host: host, name: name}
	var err error
	p.Running, err = c.s.Begin(c.t.Context(), "compute", filepath.Join(c.dir, host+".yaml"), name, nil,
		"--host", host, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	require.NoError(c.t, err)
	endsWith(c.t, p.Running)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, p)
	return p
}

func (p *computeProcess) runs() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// running returns the processes that have not ended.
func (c *computes) running() []*computeProcess {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*computeProcess
	for _, p := range c.all {
		if p.runs() {
			out = append(out, p)
		}
	}
	return out
}

// published is what a process publishes: its epoch and the free nodes.
type published struct {
	epoch int64
	free  map[string]bool
}

func (p *computeProcess) read() (published, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a, err := stacks.Request(ctx, http.MethodGet, p.URL()+"/inventory", nil, nil)
	if err != nil {
		return published{}, err
	}
	var body struct {
		Epoch int64 `json:"epoch"`
		Nodes []struct {
			UUID     string `json:"uuid"`
			Total    int    `json:"total"`
			Used     int    `json:"used"`
			Reserved int    `json:"reserved"`
		} `json:"nodes"`
	}
	if err := a.Decode(&body); err != nil {
		return published{}, err
	}
	out := published{epoch: body.Epoch, free: map[string]bool{}}
	for _, n := range body.Nodes {
		if n.Total-n.Used-n.Reserved > 0 {
			out.free[n.UUID] = true
		}
	}
	return out, nil
}

// round reads what each process publishes, twice. If a process shows the same epoch in both readings, it has shown the same
// nodes all the time between them.
func (c *computes) round() error {
	processes := c.running()
	before := make([]published, len(processes))
	for i, p := range processes {
		before[i], _ = p.read() // a process that does not answer shows nothing
	}
	by := map[string]string{}
	for i, p := range processes {
		now, err := p.read()
		if err != nil || now.epoch != before[i].epoch {
			continue
		}
		for uuid := range now.free {
			if !before[i].free[uuid] {
				continue
			}
			if other, twice := by[uuid]; twice {
				return fmt.Errorf("%s is free in the inventories of %s and %s", uuid, other, p.name)
			}
			by[uuid] = p.name
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	c.free = max(c.free, len(by))
	return nil
}

// While services are killed, frozen, stopped, started and reconfigured at random, no node is ever free in the inventories of
// two processes.
func TestRow22CapacityIsNeverPublishedTwice(t *testing.T) {
	t.Parallel()
	s := world(t)
	const group, other = "shared", "shared-too"
	s.conductor(t, group, "shared-1")
	s.conductor(t, other, "shared-2")
	var uuids []string
	for i := range 8 {
		n := available(t, s, s.rack)
		n.patch("conductor_group", []string{group, group, group, other}[i%4])
		uuids = append(uuids, n.uuid)
	}
	c := &computes{t: t, s: s, dir: t.TempDir(), group: group}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	hosts := []string{"share-a", "share-b", "share-c"}
	for _, h := range hosts {
		c.settings(h, group)
		c.start(h)
	}

	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if err := c.round(); err != nil {
					failed <- err
					return
				}
				select { // the machine has more to do
				case <-ctx.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	var told []string
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); {
		told = append(told, c.disturb(r, hosts, group, other))
		select {
		case err := <-failed:
			cancel()
			t.Fatalf("seed %d: %v after:\n%s", seed, err, strings.Join(told, "\n"))
		case <-time.After(time.Duration(200+r.IntN(2500)) * time.Millisecond):
		}
	}
	c.calm(hosts, group)
	eventually(t, patience, func() error { return c.whole(uuids) })
	cancel()
	readers.Wait()
	select {
	case err := <-failed:
		t.Fatalf("seed %d: %v after:\n%s", seed, err, strings.Join(told, "\n"))
	default:
	}
	t.Logf("%d rounds of readers, at most %d nodes free at once", c.seen, c.free)
	require.Greater(t, c.seen, 50)
	require.Positive(t, c.free, "something was published")
}

// disturb does something to a random service, and returns what.
func (c *computes) disturb(r *rand.Rand, hosts []string, group, other string) string {
	host := hosts[r.IntN(len(hosts))]
	var p *computeProcess
	for _, one := range c.running() {
		if one.host == host && !one.frozen {
			p = one
		}
	}
	if p == nil {
		if frozen := c.frozen(host); frozen != nil && r.IntN(2) == 0 {
			frozen.frozen = false
			_ = syscall.Kill(frozen.Pid(), syscall.SIGCONT)
			return "continue " + frozen.name
		}
		return "start " + c.start(host).name
	}
	switch r.IntN(6) {
	case 0:
		_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
		<-p.Done()
		return "kill " + p.name
	case 1:
		_ = syscall.Kill(p.Pid(), syscall.SIGTERM)
		return "stop " + p.name
	case 2:
		p.frozen = true
		_ = syscall.Kill(p.Pid(), syscall.SIGSTOP)
		return "freeze " + p.name
	default:
		key := []string{group, group, group, other, "-", ""}[r.IntN(6)]
		var peers []string
		for _, h := range hosts {
			if r.IntN(2) == 0 {
				peers = append(peers, h)
			}
		}
		c.settings(host, key, peers...)
		_ = syscall.Kill(p.Pid(), syscall.SIGHUP)
		return fmt.Sprintf("%s gets key %q, peers %v", p.name, key, peers)
	}
}

func (c *computes) frozen(host string) *computeProcess {
	for _, p := range c.running() {
		if p.host == host && p.frozen {
			return p
		}
	}
	return nil
}

// calm ends all but one process of each name, and gives them plain settings.
func (c *computes) calm(hosts []string, group string) {
	for i, h := range hosts {
		key := group
		if i == 0 {
			key = "shared-too"
		}
		c.settings(h, key)
		var keep *computeProcess
		for _, p := range c.running() {
			if p.host != h {
				continue
			}
			p.frozen = false
			_ = syscall.Kill(p.Pid(), syscall.SIGCONT)
			_ = syscall.Kill(p.Pid(), syscall.SIGTERM)
			keep = p
		}
		if keep != nil {
			<-keep.Done()
		}
		c.start(h)
	}
}

// whole checks that every node is free in exactly one inventory.
func (c *computes) whole(uuids []string) error {
	by := map[string]string{}
	for _, p := range c.running() {
		now, err := p.read()
		if err != nil {
			return err
		}
		for uuid := range now.free {
			if by[uuid] != "" {
				return fmt.Errorf("%s is in two", uuid)
			}
			by[uuid] = p.name
		}
	}
	var errs []error
	for _, uuid := range uuids {
		if by[uuid] == "" {
			errs = append(errs, fmt.Errorf("%s is in none", uuid))
		}
	}
	return errors.Join(errs...)
}
