package redfish_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/sim/hostile"
)

// The limits on what hostile BMCs may cost. A conductor has 512 MiB for everything that it does.
const (
	hostileMemory    = 160 << 20              // bytes of memory of a process that talks to all of them at once
	hostileRequests  = 1000                   // in one conversation in which every call is made once
	hostileError     = 2000                   // bytes of an error
	hostileInventory = 600 << 10              // bytes of an inventory as JSON
	hostileEnv       = "TEMPER_TEST_HOSTILES" // names the file of hostiles
)

// hostiles is what the two processes of the test tell each other, in a file.
type hostiles struct {
	URLs  map[string]string // by name
	Calls int
	Peak  int64 // bytes
}

// The BMCs are in this process and the driver is in another one, so that the driver's memory is measured without theirs.
func TestHostileBMCsAreBoundedInMemoryAndRequests(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("NOT TESTED: this system does not tell how much memory a process has had")
	}
	bmcs, told := map[string]*hostile.BMC{}, hostiles{URLs: map[string]string{}}
	add := func(name string, b *hostile.BMC) {
		srv := httptest.NewServer(b)
		t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
		bmcs[name], told.URLs[name] = b, srv.URL
	}
	for _, trick := range hostile.Tricks() {
		// The trick on every path, and only on paths that a client reads after honest answers.
		for _, under := range []string{"", sysPath + "/", "/VirtualMedia"} {
			b := hostile.New(0)
			b.Only(trick, under)
			add(trick+" under "+under, b)
		}
	}
	for seed := range uint64(6) {
		add(fmt.Sprintf("all of it, seed %d", seed), hostile.New(seed))
	}
	file := filepath.Join(t.TempDir(), "hostiles.json")
	write(t, file, told)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTalkingToHostileBMCs$", "-test.timeout=4m")
	child.Env = append(os.Environ(), hostileEnv+"="+file)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	read(t, file, &told)
	require.Less(t, told.Peak, int64(hostileMemory))
	most := int64(0)
	for name, b := range bmcs {
		most = max(most, b.Requests())
		require.Positive(t, b.Requests(), name)
		require.Less(t, b.Requests(), int64(hostileRequests), name)
	}
	t.Logf("%d calls: at most %d MiB, and %d requests to one BMC", told.Calls, told.Peak>>20, most)
}

// This runs in the other process of the test above.
func TestTalkingToHostileBMCs(t *testing.T) {
	t.Parallel()
	file := os.Getenv(hostileEnv)
	if file == "" {
		t.Skip("the test above starts it")
	}
	var told hostiles
	read(t, file, &told)
	conf := quick()
	conf.RequestTimeout = time.Second
	conf.MostTimeout = conf.RequestTimeout // patience with silent BMCs would add minutes
	d := newDriver(t, conf)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for name, url := range told.URLs {
		wg.Go(func() {
			n := callEverything(t, d, name, url)
			mu.Lock()
			defer mu.Unlock()
			told.Calls += n
		})
	}
	wg.Wait()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, peak)
	kib, err := strconv.ParseInt(string(peak[1]), 10, 64)
	require.NoError(t, err)
	told.Peak = kib << 10
	write(t, file, told)
}

// callEverything makes every call once and checks the results. It returns the number of calls.
func callEverything(t *testing.T, d *redfish.Driver, name, url string) int {
	s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: map[string]any{
		"redfish_address": url, "redfish_system_id": sysPath, "redfish_username": username, "redfish_password": password,
	}})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	defer s.Close()
	calls := map[string]func(context.Context) (any, error){
		"Power":        func(ctx context.Context) (any, error) { return s.Power(ctx) },
		"RequestPower": func(ctx context.Context) (any, error) { return nil, s.RequestPower(ctx, bmc.RequestOn) },
		"Restart":      func(ctx context.Context) (any, error) { return nil, s.Restart(ctx) },
		"Boot":         func(ctx context.Context) (any, error) { return s.Boot(ctx) },
		"SetBoot":      func(ctx context.Context) (any, error) { return nil, s.SetBoot(ctx, bmc.Boot{Device: bmc.DeviceDisk}) },
		"ClearBoot":    func(ctx context.Context) (any, error) { return nil, s.SetBoot(ctx, bmc.Boot{}) },
		"BootDevices":  func(ctx context.Context) (any, error) { return s.BootDevices(ctx) },
		"InjectNMI":    func(ctx context.Context) (any, error) { return nil, s.InjectNMI(ctx) },
		"Media":        func(ctx context.Context) (any, error) { return s.Media(ctx) },
		"InsertMedia":  func(ctx context.Context) (any, error) { return nil, s.InsertMedia(ctx, image) },
		"EjectMedia":   func(ctx context.Context) (any, error) { return nil, s.EjectMedia(ctx) },
		"Health":       func(ctx context.Context) (any, error) { return s.Health(ctx) },
		"Inspect":      func(ctx context.Context) (any, error) { return s.Inspect(ctx) },
	}
	for call, do := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		found, err := do(ctx)
		cancel()
		switch {
		case err != nil && len(err.Error()) > hostileError:
			t.Errorf("%s: %s: an error of %d bytes", name, call, len(err.Error()))
		case err != nil && bmc.RetryAfter(err) > 10*time.Minute, bmc.RetryAfter(err) < 0:
			t.Errorf("%s: %s: a pause of %s", name, call, bmc.RetryAfter(err))
		}
		if text, _ := json.Marshal(found); len(text) > 200<<10 {
			t.Errorf("%s: %s: %d bytes of result", name, call, len(text))
		}
	}
	return len(calls)
}

func write(t *testing.T, file string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
}

func read(t *testing.T, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, v))
}
