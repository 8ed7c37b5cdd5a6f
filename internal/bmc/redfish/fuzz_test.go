package redfish_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/sim/machine"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

// The limits of one call to a BMC that answers anything.
const (
	fuzzRequests = 700 // the driver's own limit, and logins
	fuzzTime     = 30 * time.Second
)

// noNetwork is where the simulated server fetches images from.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("image"))}, nil
}

// FuzzBMCs talks to the personas of the simulated rack while their answers are spoiled: whatever they are, no call
// panics, hangs or loops, and nothing is written but what the call is for. The tests run the seeds; `make fuzz` goes on.
func FuzzBMCs(f *testing.F) {
	all := simredfish.Personas()
	for i := range all {
		f.Add(uint8(i), uint64(i))
		f.Add(uint8(i), uint64(i)+1000)
	}
	service := simredfish.New(0, all...)
	f.Fuzz(func(t *testing.T, persona uint8, seed uint64) {
		p := all[int(persona)%len(all)]
		env := &machine.Env{DataDir: t.TempDir(), SessionTimeout: time.Hour, MaxSessions: 16, MediaLimit: 1 << 20, Client: &http.Client{Transport: noNetwork{}}}
		server := machine.New(env, 0, p.Make)
		m := newMutant(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { service.Serve(w, r, server) }), seed)
		srv := httptest.NewServer(m)
		defer srv.Close()
		defer server.Halt()

		conf := quick()
		conf.RequestTimeout, conf.MostTimeout = time.Second, time.Second
		d := redfish.New(conf)
		defer d.Close(context.WithoutCancel(t.Context()))
		var guarded atomic.Int64
		s, err := d.Open(t.Context(), bmc.Target{
			Node: nodeID,
			Info: map[string]any{
				"redfish_address": srv.URL, "redfish_system_id": service.SystemOf(server),
				"redfish_username": server.Username, "redfish_password": server.Password,
			},
			Guard: func(context.Context, bmc.Request) (time.Time, error) {
				guarded.Add(1)
				return time.Now().Add(time.Minute), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, c := range fuzzedCalls(s) {
			guarded.Store(0)
			ctx, cancel := context.WithTimeout(t.Context(), fuzzTime)
			begun := time.Now()
			found, err := c.do(ctx)
			cancel()
			requests, writes := m.take()
			if took := time.Since(begun); took >= fuzzTime {
				t.Errorf("%s: %s took %s", p.Name, c.name, took)
			}
			if requests > fuzzRequests {
				t.Errorf("%s: %s: %d requests", p.Name, c.name, requests)
			}
			if int64(len(writes)) > guarded.Load() {
				t.Errorf("%s: %s: %d requests that change something, and the guard was asked %d times", p.Name, c.name, len(writes), guarded.Load())
			}
			for _, w := range writes {
				if !c.may(w) {
					t.Errorf("%s: %s must not send %s %s %v", p.Name, c.name, w.method, w.path, w.body)
				}
			}
			checkFound(t, p.Name+": "+c.name, server.Password, found, err)
		}
	})
}

// fuzzedCall is a call, and which requests it may send to change something.
type fuzzedCall struct {
	name string
	do   func(context.Context) (any, error)
	may  func(written) bool
}

func fuzzedCalls(s bmc.Session) []fuzzedCall {
	none := func(written) bool { return false }
	reset := func(types ...string) func(written) bool {
		return func(w written) bool {
			t, _ := w.body["ResetType"].(string)
			return w.method == http.MethodPost && len(w.body) == 1 && strings.Contains(","+strings.Join(types, ",")+",", ","+t+",")
		}
	}
	boot := func(w written) bool {
		return w.method == http.MethodPatch && len(w.body) == 1 && (w.body["Boot"] != nil || w.body["Attributes"] != nil)
	}
	eject := func(w written) bool {
		return w.method == http.MethodPost && len(w.body) == 0 || w.method == http.MethodPatch && len(w.body) == 2 && w.body["Image"] == nil && w.body["Inserted"] == false
	}
	insert := func(w written) bool { return w.body["Image"] == image || eject(w) }
	return []fuzzedCall{
		{"Power", func(ctx context.Context) (any, error) { return s.Power(ctx) }, none},
		{"Boot", func(ctx context.Context) (any, error) { return s.Boot(ctx) }, none},
		{"BootDevices", func(ctx context.Context) (any, error) { return s.BootDevices(ctx) }, none},
		{"Media", func(ctx context.Context) (any, error) { return s.Media(ctx) }, none},
		{"Health", func(ctx context.Context) (any, error) { return s.Health(ctx) }, none},
		{"Inspect", func(ctx context.Context) (any, error) { return s.Inspect(ctx) }, none},
		{"InsertMedia", func(ctx context.Context) (any, error) { return nil, s.InsertMedia(ctx, image) }, insert},
		{"SetBoot", func(ctx context.Context) (any, error) { return nil, s.SetBoot(ctx, bmc.Boot{Device: bmc.DeviceCDROM}) }, boot},
		{"RequestPower", func(ctx context.Context) (any, error) { return nil, s.RequestPower(ctx, bmc.RequestOn) }, reset("On", "ForceOn")},
		{"Restart", func(ctx context.Context) (any, error) { return nil, s.Restart(ctx) }, reset("ForceRestart")},
		{"InjectNMI", func(ctx context.Context) (any, error) { return nil, s.InjectNMI(ctx) }, reset("Nmi")},
		{"EjectMedia", func(ctx context.Context) (any, error) { return nil, s.EjectMedia(ctx) }, eject},
		{"ClearBoot", func(ctx context.Context) (any, error) { return nil, s.SetBoot(ctx, bmc.Boot{}) }, boot},
	}
}

// checkFound checks what a call returned.
func checkFound(t *testing.T, name, password string, found any, err error) {
	t.Helper()
	if err != nil && (len(err.Error()) > hostileError || strings.Contains(err.Error(), password)) {
		t.Errorf("%s: an error that is too long or tells the password: %.3000s", name, err)
	}
	if text, _ := json.Marshal(found); len(text) > hostileInventory {
		t.Errorf("%s: %d bytes of result", name, len(text))
	}
	inv, ok := found.(bmc.Inventory)
	if !ok {
		return
	}
	if inv.CPUs < 0 || inv.MemoryMiB < 0 {
		t.Errorf("%s: %d processors, %d MiB", name, inv.CPUs, inv.MemoryMiB)
	}
	for _, n := range inv.NICs {
		if len(n.MAC) != len("00:00:00:00:00:00") {
			t.Errorf("%s: the address %q", name, n.MAC)
		}
	}
}
