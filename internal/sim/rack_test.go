package sim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
)

func TestTheListingHasWhatScriptsRelyOn(t *testing.T) {
	t.Parallel()
	s := start(t, quick(sim.Config{Servers: 3, Seed: 5}))
	_, body := s.call(http.MethodGet, s.rack.URL()+"/servers", nil)
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(body, &rows))
	require.Len(t, rows, 3)
	for _, field := range []string{
		"name", "redfish_address", "redfish_system_id", "redfish_username", "redfish_password", "redfish_verify_ca", "macs",
		"powered", "power_actions", "booted_from", "media", "boot_override", "agent_commands", "agent_boots", "lookups", "heartbeats",
		"disk_sha256",
	} {
		require.Contains(t, rows[1], field)
	}
	require.Equal(t, "sim-0002", rows[1]["name"])
	require.Equal(t, []any{}, rows[1]["power_actions"], "an empty list, not null")
	require.Equal(t, []any{}, rows[1]["agent_commands"])
	require.Equal(t, false, rows[1]["powered"])
	require.Nil(t, rows[1]["booted_from"])
	require.NotEqual(t, rows[0]["redfish_password"], rows[1]["redfish_password"])

	s.bmc("sim-0002").reset("On")
	s.eventually("sim-0002", "on", func(v sim.Server) bool { return v.Powered })
	require.Len(t, s.server("sim-0002").PowerActions, 1)
	status, _ := s.call(http.MethodGet, s.rack.URL()+"/servers/nobody", nil)
	require.Equal(t, http.StatusNotFound, status)
	status, _ = s.call(http.MethodGet, s.rack.URL()+"/bmc/nobody/redfish/v1", nil)
	require.Equal(t, http.StatusNotFound, status)
}

func TestHardwareFollowsFromTheSeedAndNoTwoServersShareAnAddress(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 5000 {
		h := machine.NewHardware(7, i, 0)
		require.Equal(t, h, machine.NewHardware(7, i, 0))
		for _, id := range append(h.MACs(), h.UUID, h.BMCMAC, h.Password, h.Serial) {
			require.False(t, seen[id], "%s of %s", id, h.Name)
			seen[id] = true
		}
	}
	a, b := machine.NewHardware(7, 0, 0), machine.NewHardware(8, 0, 0)
	require.NotEqual(t, a.MACs(), b.MACs())
}

func TestARackStartedAgainGoesOn(t *testing.T) {
	t.Parallel()
	dir, i := t.TempDir(), newIronic(t)
	cfg := quick(sim.Config{Servers: 2, Seed: 11, APIURL: i.URL, DataDir: dir})
	run := func(during func(*stage)) {
		ctx, cancel := context.WithCancel(context.Background())
		ended, ready := make(chan error, 1), make(chan string, 1)
		go func() { ended <- sim.Run(ctx, cfg, func(u string) { ready <- u }) }()
		transport := &http.Transport{}
		during(&stage{t: t, rack: nil, http: &http.Client{Transport: transport, Timeout: soon}, base: <-ready})
		transport.CloseIdleConnections()
		cancel()
		require.NoError(t, <-ended)
	}
	var before sim.Server
	var first *ramdisk
	run(func(s *stage) {
		first = s.boot(i)
		out := first.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"d","disk_format":"raw","urls":["%s/images/disk.raw"],"checksum":"%s/images/SHA256SUMS"}}`,
			s.url(), s.url()))
		require.Equal(t, "SUCCEEDED", out["command_status"])
		b := s.bmc("sim-0001")
		b.setBoot("Hdd", "Continuous")
		b.do(http.MethodPatch, system+"/Bios/Settings", obj{"Attributes": obj{"SecureBoot": "Enabled"}})
		s.bmc("sim-0002").setBoot("Cd", "Once")
		before = s.server("sim-0001")
	})
	beats := i.count()
	cfg.Seed = 12 // the seed that the folder has is used instead
	run(func(s *stage) {
		require.Eventually(t, func() bool { return i.count() > beats }, soon, tick, "the agent goes on by itself")
		after := s.server("sim-0001")
		require.Equal(t, before.RedfishAddress, after.RedfishAddress)
		require.Equal(t, before.DiskSHA256, after.DiskSHA256)
		require.Equal(t, before.Media, after.Media)
		require.Equal(t, before.AgentBoots, after.AgentBoots, "a restart of the rack is no boot")
		require.Equal(t, before.Lookups, after.Lookups)
		require.Len(t, after.PowerActions, len(before.PowerActions))
		require.Len(t, after.AgentCommands, len(before.AgentCommands))
		require.Equal(t, machine.CD, *after.BootedFrom)
		require.Equal(t, "Hdd", *after.BootOverride)
		require.Equal(t, "Once", s.server("sim-0002").BootEnabled)
		pending := s.bmc("sim-0001").do(http.MethodGet, system+"/Bios/Settings", nil)
		require.Equal(t, "Enabled", pending.at("Attributes", "SecureBoot"))

		again := i.ramdisk(t)
		require.Equal(t, first.base, again.base, "the address the API knows is still right")
		require.Len(t, first.commands(), 1, "and so are certificate, token and results")
		s.bmc("sim-0001").reset("ForceOff")
		s.eventually("sim-0001", "off", func(v sim.Server) bool { return !v.Powered })
	})
}

func TestAPowerChangeThatWasUnderWayIsBroughtToItsEnd(t *testing.T) {
	t.Parallel()
	cfg := quick(sim.Config{Servers: 1, DataDir: t.TempDir()})
	cfg.PowerDelay = time.Hour
	s := start(t, cfg)
	s.bmc("sim-0001").reset("On")
	s.stop()
	cfg.PowerDelay = 10 * time.Millisecond
	s = start(t, cfg)
	s.bmc("sim-0001").become("On")
}

func TestBMCsWithAddressesAndCertificatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, perServer := range map[string]bool{"an address each": true, "paths of one": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, quick(sim.Config{Servers: 3, TLS: true, PerServerAddress: perServer, DataDir: dir}))
			row := s.server("sim-0003")
			require.Equal(t, filepath.Join(dir, "ca.pem"), row.RedfishVerifyCA)
			u, err := url.Parse(row.RedfishAddress)
			require.NoError(t, err)
			require.Equal(t, "https", u.Scheme)
			if perServer {
				require.Equal(t, "127.100.0.3", u.Hostname())
				require.Empty(t, u.Path)
			}
			ca, err := os.ReadFile(row.RedfishVerifyCA.(string))
			require.NoError(t, err)
			pool := x509.NewCertPool()
			require.True(t, pool.AppendCertsFromPEM(ca))
			b := s.bmc("sim-0003")
			_, err = b.try(http.MethodGet, system, nil)
			require.ErrorContains(t, err, "certificate signed by unknown authority")

			secure := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
			defer secure.CloseIdleConnections()
			s.http = &http.Client{Transport: secure, Timeout: soon}
			require.Equal(t, "Off", b.power())
			require.Equal(t, "sim-0003", b.do(http.MethodGet, system, nil).at("Name"))
			status, _ := s.call(http.MethodGet, s.rack.URL()+"/bmc/sim-0003/redfish/v1", nil)
			require.Equal(t, http.StatusNotFound, status, "and not in the clear as well")
		})
	}
}

func TestSettingsThatCannotBeAreNamed(t *testing.T) {
	t.Parallel()
	_, err := sim.New(sim.Config{Servers: -1, PowerDelay: -time.Second, ImageBytes: 1})
	require.ErrorContains(t, err, "servers is -1")
	require.ErrorContains(t, err, "power delay is -1s")
	require.ErrorContains(t, err, "image is 1 bytes")
	err = sim.Run(context.Background(), sim.Config{Listen: "nowhere", DataDir: t.TempDir()}, func(string) {})
	require.ErrorContains(t, err, "nowhere")
}

func TestARackOfNoServersAndATemporaryFolder(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	r, err := sim.New(sim.Config{})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	<-r.Ready()
	transport := &http.Transport{}
	s := &stage{t: t, rack: r, http: &http.Client{Transport: transport}}
	_, body := s.call(http.MethodGet, r.URL()+"/servers", nil)
	require.JSONEq(t, "[]", string(body))
	transport.CloseIdleConnections()
	cancel()
	require.NoError(t, <-ended)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestMetricsCountWhatIsAsked(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	s := start(t, quick(sim.Config{Servers: 4, Metrics: registry}))
	b := s.bmc("sim-0001")
	b.reset("On")
	b.become("On")
	s.faults("sim-0001", `{"kind":"reset","count":1}`)
	_, err := b.try(http.MethodPost, system, nil)
	require.Error(t, err)
	got := func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				full := f.GetName()
				for _, l := range m.GetLabel() {
					full += " " + l.GetValue()
				}
				if full == name {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
		return 0
	}
	require.InDelta(t, 4, got("temper_rack_servers"), 0)
	require.InDelta(t, 1, got("temper_rack_servers_on"), 0)
	require.InDelta(t, 1, got("temper_rack_bmc_requests_total 204 POST"), 0)
	// A request whose connection was cut is counted only after the client has noticed the cut.
	require.Eventually(t, func() bool { return got("temper_rack_bmc_requests_total 0 POST") == 1 }, soon, tick)
}

// BenchmarkStart shows what 2,000 idle servers cost: heap and goroutines after
// the start, seconds until the rack answers and lists them all.
func BenchmarkStart(b *testing.B) {
	const n = 2000
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		r, err := sim.New(sim.Config{Servers: n, Seed: 1, DataDir: b.TempDir()})
		require.NoError(b, err)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- r.Serve(ctx, l) }()
		<-r.Ready()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/server")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
		transport := &http.Transport{}
		res, err := (&http.Client{Transport: transport}).Get(r.URL() + "/servers")
		require.NoError(b, err)
		var rows []sim.Server
		require.NoError(b, json.NewDecoder(res.Body).Decode(&rows))
		require.NoError(b, res.Body.Close())
		require.Len(b, rows, n)
		transport.CloseIdleConnections()
		cancel()
		require.NoError(b, <-ended)
	}
}
