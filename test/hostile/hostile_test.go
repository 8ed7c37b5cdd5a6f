package hostile_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

var (
	howLong = flag.Duration("hostile-time", playTime(), "how long the API, the BMCs and the agents are played")
	seed    = flag.Uint64("hostile-seed", 1, "of what they say")
)

func playTime() time.Duration {
	if testenv.All() {
		return 15 * time.Second
	}
	return 5 * time.Second
}

const (
	mostMemory = 512 * mib
	// memoryLimit is the limit that a role sets itself in a container (GOMEMLIMIT):
	// nine tenths of the container's memory.
	memoryLimit = "460MiB"
	settings    = `
deploy_callback_timeout: 20s
clean_callback_timeout: 20s
inspect_callback_timeout: 60s
power_timeout: 4s
bmc_busy_timeout: 4s
bmc_request_timeout: 2s
bmc_request_timeout_max: 2s
bmc_away_timeout: 0s
reconcile_interval: 3s
rack_power_delay: 50ms
rack_boot_delay: 100ms
rack_step_delay: 20ms
`
)

// No attack kills a process or makes a role use more memory than it has, by the kernel's peak of the resident set (VmHWM).
// Meanwhile healthy servers are deployed, and no attacker gets requests without end.
func TestEachRoleRunsWithin512MiB(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), *howLong+8*time.Minute)
	defer cancel()
	s := stack.Config{
		Settings: settings, Env: []string{"GOMEMLIMIT=" + memoryLimit}, Args: []string{"--nodes", "5", "--conductors", "1", "--drivers", "redfish"},
	}.For(t)
	compute, err := s.Role(ctx, "compute", "compute-1", []string{"TEMPER_API_URL=" + s.APIURL, "GOMEMLIMIT=" + memoryLimit},
		"--host", "h1", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, compute.Stop(context.WithoutCancel(ctx))) })
	b := &bench{T: t, ctx: ctx, Stack: s, device: newDevice(t, *seed), others: []string{compute.URL(), origin(compute.MetricsURL())}}
	for _, p := range s.Processes {
		if p.MetricsURL != "" {
			b.others = append(b.others, origin(p.MetricsURL))
		}
	}
	b.prepare()

	pids := map[string]int{"compute": compute.Pid()}
	for _, p := range s.Processes {
		if p.Role == "api" || p.Role == "orchestrator" || p.Role == "conductor" {
			pids[p.Name] = p.PID
		}
	}
	require.Len(t, pids, 4)
	b.play()
	b.healthyAreDeployed()

	require.NoError(t, s.Read())
	for name, pid := range pids {
		peak, err := peakMemory(pid)
		require.NoError(t, err, "%s died", name)
		t.Logf("%-20s peak %d MiB", name, peak/mib)
		require.Less(t, peak, mostMemory, name)
	}
	for _, p := range s.Processes {
		if pid, ok := pids[p.Name]; ok {
			require.Equal(t, pid, p.PID, "%s died and was started again", p.Name)
		}
	}
	asBMC, asAgent := int(b.device.asBMC.Load()), int(b.device.asAgent.Load())
	t.Logf("%d requests to the hostile BMC, %d to the agent, %d operations", asBMC, asAgent, b.verbs)
	require.Positive(t, asBMC)
	require.Positive(t, asAgent)
	require.Less(t, asBMC+asAgent, 500*b.verbs, "somebody is asked without end")
}

// bench is the stack and the attackers.
type bench struct {
	*testing.T
	*stack.Stack
	ctx    context.Context
	device *device
	others []string // addresses that a stranger may know besides the API's

	healthy   []stack.Node
	inspected stack.Node // waits for an inventory
	agents    []stack.Node
	bmcs      []string // uuids
	macs      map[string][]string
	verbs     int
}

// prepare brings the nodes of the rack into the states in which they are attacked: two are deployed and two are cleaned with
// our agent, and one waits for an inventory.
func (b *bench) prepare() {
	_, err := b.Move(b.ctx, 5, "enroll", "manage", "manageable")
	require.NoError(b, err)
	all, err := b.Nodes(b.ctx)
	require.NoError(b, err)
	b.healthy, b.agents, b.inspected = all[:2], all[2:4], all[4]
	b.macs = map[string][]string{}
	servers, err := b.Servers(b.ctx)
	require.NoError(b, err)
	for _, n := range all {
		for _, sv := range servers {
			if sv.Name == n.Name {
				b.macs[n.UUID] = sv.MACs
				if n.UUID != b.healthy[0].UUID && n.UUID != b.healthy[1].UUID {
					require.NoError(b, b.Spoil(b.ctx, sv.Name, []map[string]any{{"kind": "no_agent"}}))
				}
			}
		}
		require.NotEmpty(b, b.macs[n.UUID])
	}
	require.NoError(b, b.Set(b.ctx, b.inspected.UUID, map[string]any{"inspect_interface": "agent"}))
	digest, err := b.Digest(b.ctx)
	require.NoError(b, err)
	for _, n := range b.healthy {
		require.NoError(b, b.Provision(b.ctx, n.UUID, "provide"))
	}
	_, err = b.AwaitState(b.ctx, b.healthy, "available", time.Now())
	require.NoError(b, err)
	for _, n := range b.healthy {
		require.NoError(b, b.SetImage(b.ctx, n.UUID, digest))
	}
	for range 4 {
		var made stack.Node
		require.NoError(b, b.Call(b.ctx, http.MethodPost, "/v1/nodes", map[string]any{"driver": "redfish", "driver_info": map[string]any{
			"redfish_address": b.device.URL, "redfish_username": "a", "redfish_password": "b", "redfish_verify_ca": false, "deploy_iso": "http://127.0.0.1/x.iso",
		}}, &made))
		b.bmcs = append(b.bmcs, made.UUID)
	}
}

// origin returns an URL without its path.
func origin(u string) string { return strings.TrimSuffix(u, "/metrics") }

// play lets all attackers act at once, for howLong.
func (b *bench) play() {
	require.NoError(b, b.Provision(b.ctx, b.inspected.UUID, "inspect"))
	require.NoError(b, b.AwaitNode(b.ctx, b.inspected.UUID, "inspect wait", 2*time.Minute))
	s := newStranger(b.APIURL, b.others, append([]string{b.inspected.UUID}, b.macs[b.inspected.UUID]...))
	var all sync.WaitGroup
	for i := range 100 { // the largest first, all at once
		all.Go(func() {
			query, body := s.inventory(rand.New(rand.NewPCG(*seed, uint64(i)+100)), 16*mib-1000)
			s.send(b.ctx, http.MethodPost, "/v1/continue_inspection"+query, body)
		})
	}
	for _, n := range b.healthy {
		require.NoError(b, b.Provision(b.ctx, n.UUID, "active"))
	}
	all.Wait()
	until, stop := context.WithTimeout(b.ctx, *howLong)
	defer stop()
	for i := range 3 {
		all.Go(func() {
			for r := rand.New(rand.NewPCG(*seed, uint64(i)+1)); until.Err() == nil; {
				s.once(until, r)
			}
		})
	}
	for until.Err() == nil {
		for _, uuid := range b.bmcs {
			b.poke(uuid, map[string]string{"enroll": "manage", "manageable": "inspect", "inspect failed": "inspect"})
		}
		for _, n := range b.agents {
			b.poke(n.UUID, map[string]string{"manageable": "provide", "clean failed": "manage"})
			b.beAgent(n)
		}
		select {
		case <-until.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	all.Wait()
	for code := range s.answers {
		if n := s.answers[code].Load(); n > 0 {
			b.Logf("answered %d: %d times", code, n)
			require.NotEqual(b, http.StatusInternalServerError, code)
		}
	}
}

// poke requests something that the node's state allows, if there is anything.
func (b *bench) poke(uuid string, verbs map[string]string) {
	n, err := b.Show(b.ctx, uuid)
	require.NoError(b, err)
	if n.Maintenance {
		_ = b.Call(b.ctx, http.MethodDelete, "/v1/nodes/"+uuid+"/maintenance", nil, nil)
	}
	if verb := verbs[n.State]; verb != "" && b.Provision(b.ctx, uuid, verb) == nil {
		b.verbs++
	}
}

// beAgent sends a lookup and a heartbeat if the node waits for an agent.
func (b *bench) beAgent(n stack.Node) {
	var l struct {
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	path := "/v1/lookup?node_uuid=" + n.UUID + "&addresses=" + url.QueryEscape(b.macs[n.UUID][0])
	if b.Call(b.ctx, http.MethodGet, path, nil, &l) != nil || l.Config.Token == "" {
		return
	}
	_ = b.Call(b.ctx, http.MethodPost, "/v1/heartbeat/"+n.UUID, map[string]any{
		"callback_url": b.device.URL, "agent_token": l.Config.Token, "agent_version": "11.4.0", "agent_verify_ca": b.device.ca,
	}, nil)
}

func (b *bench) healthyAreDeployed() {
	_, err := b.AwaitState(b.ctx, b.healthy, "active", time.Now())
	require.NoError(b, err)
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemory returns the kernel's peak of a process's resident memory.
func peakMemory(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	m := peak.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("process %d has no memory any more", pid)
	}
	kib, err := strconv.Atoi(string(m[1]))
	return kib << 10, err
}
