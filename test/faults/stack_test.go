// Package faults_test makes faults that operators meet on a simulated rack, and checks what Temper tells about each: the cause,
// the sentence, its age. Then it does nothing but what `temper node why` prints, until the node is active.
package faults_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/test/stack"
)

// settings make what takes half an hour in a data centre take seconds. A step says what it waits for after 5 s, so power_timeout is
// longer than that. A step that fails is not tried again by itself.
const settings = `
deploy_callback_timeout: 30s
power_timeout: 25s
virtual_media_timeout: 10s
bmc_request_timeout: 2s
bmc_request_timeout_max: 2s
bmc_away_timeout: 0s
reconcile_interval: 3s
conductor_heartbeat_interval: 1s
conductor_heartbeat_timeout: 6s
step_limits: {deploy.prepare: 1, deploy.deploy: 1, deploy.write_image: 1}
rack_power_delay: 50ms
rack_boot_delay: 100ms
rack_step_delay: 20ms
`

const (
	servers = 30
	// patience is how long to wait for what happens soon, on a machine that may be very busy.
	patience = 60 * time.Second
)

// lab is a running stack, and the program with which it is asked.
type lab struct {
	*stack.Stack
	bin    string // folder of temper
	digest string // sha256 of the rack's image

	mu   sync.Mutex
	free []string // servers that no case has
}

func newLab(t *testing.T) *lab {
	t.Helper()
	bin, err := stack.Programs(t.Context(), stack.Root)
	require.NoError(t, err)
	l := &lab{bin: bin, Stack: stack.Config{Settings: settings, Args: []string{
		"--restart", "--enroll=false", "--nodes", fmt.Sprint(servers), "--conductors", "2", "--drivers", "redfish",
	}}.For(t)}
	l.digest, err = l.Digest(t.Context())
	require.NoError(t, err)
	l.free = serversOf(t, l.Stack)
	return l
}

func serversOf(t *testing.T, s *stack.Stack) (names []string) {
	t.Helper()
	all, err := s.Servers(t.Context())
	require.NoError(t, err)
	for _, sv := range all {
		names = append(names, sv.Name)
	}
	return names
}

func (l *lab) take(t *testing.T) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	require.NotEmpty(t, l.free, "the rack has too few servers")
	name := l.free[0]
	l.free = l.free[1:]
	return name
}

// smallSeed is the seed of the rack that smallDisks starts.
const smallSeed = 2

// smallDisks starts a rack besides the stack's own. Its disks are smaller than the rack's image.
func (l *lab) smallDisks(t *testing.T, count int) *lab {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan string, 1)
	cfg := sim.Config{
		Servers: count, Seed: smallSeed, APIURL: l.APIURL, DataDir: t.TempDir(), DiskBytes: 1 << 20,
		PowerDelay: 50 * time.Millisecond, BootDelay: 100 * time.Millisecond, StepDelay: 20 * time.Millisecond,
	}
	go func() { ended <- sim.Run(ctx, cfg, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	select {
	case url := <-ready:
		s := *l.Stack
		s.RackURL = url
		return &lab{Stack: &s, bin: l.bin, digest: l.digest, free: serversOf(t, &s)}
	case <-time.After(patience):
		require.Fail(t, "the rack with small disks did not come up")
	}
	return nil
}

// conductor starts one more conductor, for a group of its own. It is not started again.
func (l *lab) conductor(t *testing.T, group, name string) *dev.Running {
	t.Helper()
	c, err := l.Role(t.Context(), "conductor", name, nil, "--name", name, "--conductor-group", group, "--enabled-drivers", "redfish", "--metrics-listen", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = c.Stop(ctx) // it may have been killed
	})
	return c
}

// freezes freezes a process until thaw is called.
func (l *lab) freezes(t *testing.T, name string) (thaw func()) {
	t.Helper()
	thaw, err := l.Freeze(name)
	require.NoError(t, err)
	t.Cleanup(thaw)
	return thaw
}
