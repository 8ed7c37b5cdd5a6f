package redfish_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// startRack runs a rack of one server and returns its URL. The rack's Redfish service shares no
// code with the driver.
func startRack(t *testing.T, c sim.Config) string {
	t.Helper()
	return newRack(t, c).URL()
}

// newRack starts a rack with one server.
func newRack(t *testing.T, c sim.Config) *sim.Rack {
	t.Helper()
	c.Servers, c.DataDir = 1, t.TempDir()
	c.PowerDelay, c.BootDelay, c.StepDelay = cmp.Or(c.PowerDelay, 20*time.Millisecond), cmp.Or(c.BootDelay, 20*time.Millisecond), 5*time.Millisecond
	r, err := sim.New(c)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case <-r.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("the rack does not get ready")
	}
	return r
}

// listing is what the tests read of the rack's only server.
type listing struct {
	Name         string
	Address      string `json:"redfish_address"`
	System       string `json:"redfish_system_id"`
	Username     string `json:"redfish_username"`
	Password     string `json:"redfish_password"`
	VerifyCA     any    `json:"redfish_verify_ca"`
	PowerActions []struct {
		ResetType string `json:"reset_type"`
	} `json:"power_actions"`
	BadLogins          int      `json:"bad_logins"`
	Sessions           int      `json:"sessions"`
	Serial             string   `json:"serial"`
	BootedFrom         *string  `json:"booted_from"`
	EventSubscriptions []string `json:"event_subscriptions"`
	Media              *string  `json:"media"`
}

func (l listing) info() map[string]any {
	return map[string]any{
		"redfish_address": l.Address, "redfish_system_id": l.System, "redfish_username": l.Username,
		"redfish_password": l.Password, "redfish_verify_ca": l.VerifyCA,
	}
}

func (l listing) resets() []string {
	var types []string
	for _, a := range l.PowerActions {
		types = append(types, a.ResetType)
	}
	return types
}

func listed(t *testing.T, rack string) listing {
	t.Helper()
	resp, err := http.Get(rack + "/servers")
	require.NoError(t, err)
	defer resp.Body.Close()
	var all []listing
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&all))
	require.Len(t, all, 1)
	return all[0]
}

func setFaults(t *testing.T, rack, faults string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPut, rack+"/servers/"+listed(t, rack).Name+"/faults", strings.NewReader(`{"faults":[`+faults+`]}`))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Less(t, resp.StatusCode, 300)
}

// countingProxy counts, between driver and rack, the requests that may change something.
func countingProxy(t *testing.T, rack string, changes *atomic.Int32) string {
	target, err := url.Parse(rack)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	// Only what the driver asks for is compressed.
	proxy.Transport = &http.Transport{DisableCompression: true}
	t.Cleanup(proxy.Transport.(*http.Transport).CloseIdleConnections)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/Sessions") {
			changes.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
}

func TestConformanceWithTheSimulatedRack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]sim.Config{
		"behind a path": {},
		"by TLS":        {TLS: true},
		"with tasks":    {TaskDelay: 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig { return simRig(t, c) })
		})
	}
}

// Like sushy-tools, this BMC has no boot override for one boot only, and none that can be switched off.
func TestConformanceWithAnOverrideThatIsAlwaysContinuous(t *testing.T) {
	t.Parallel()
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		rack := startRack(t, sim.Config{})
		setFaults(t, rack, `{"kind":"always_continuous"}`)
		var changes atomic.Int32
		server := listed(t, rack)
		at, err := url.Parse(server.Address)
		require.NoError(t, err)
		server.Address = countingProxy(t, rack, &changes) + path.Clean("/"+at.Path)
		return bmctest.Rig{
			Type:   hardwareType(),
			Driver: redfish.New(quick()), Target: bmc.Target{Node: nodeID, Info: server.info()},
			Lacks:   []bmctest.Capability{bmctest.BootOnce, bmctest.BootClear, bmctest.Subscription, bmctest.EventLog},
			Images:  [2]string{rack + "/images/deploy.iso", rack + "/images/disk.raw"},
			Changes: func() int { return int(changes.Load()) },
		}
	})
}

func TestASlowInsertionHasAnUnknownOutcomeAndShowsLater(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	setFaults(t, rack, `{"kind":"slow_insert","delay":"1s","count":1}`)
	conf := quick()
	conf.RequestTimeout = 300 * time.Millisecond
	s, iso := talk(t, newDriver(t, conf), listed(t, rack).info()), rack+"/images/deploy.iso"
	requireFault(t, s.InsertMedia(t.Context(), iso), fault.OutcomeUnknown)
	requireFault(t, s.InsertMedia(t.Context(), iso), fault.Busy, "in transition")
	require.Eventually(t, func() bool {
		m, err := s.Media(t.Context())
		return err == nil && m.Holds(iso)
	}, 30*time.Second, 20*time.Millisecond)
}

func simRig(t *testing.T, c sim.Config) bmctest.Rig { return rigOf(t, c, startRack(t, c)) }

// rigOf is a rig with the server of the rack at that URL.
func rigOf(t *testing.T, c sim.Config, rack string) bmctest.Rig {
	server := listed(t, rack)
	conf := quick()
	if ca, ok := server.VerifyCA.(string); ok {
		conf.CADir = filepath.Dir(ca)
	}
	rig := bmctest.Rig{
		Type:   hardwareType(),
		Driver: redfish.New(conf),
		Images: [2]string{rack + "/images/deploy.iso", rack + "/images/disk.raw"},
		Hang: func() func() {
			setFaults(t, rack, `{"kind":"hang","delay":"1h"}`)
			return func() { setFaults(t, rack, ``) }
		},
	}
	if len(c.Personas) == 0 { // the generic one
		rig.Lacks = []bmctest.Capability{bmctest.Subscription}
	}
	if !c.TLS {
		var changes atomic.Int32
		at, err := url.Parse(server.Address)
		require.NoError(t, err)
		server.Address = countingProxy(t, rack, &changes) + path.Clean("/"+at.Path)
		rig.Changes = func() int { return int(changes.Load()) }
	}
	rig.Target = bmc.Target{Node: nodeID, Info: server.info()}
	rig.Serial = server.Serial
	rig.BootedFromCD = func() bool {
		from := listed(t, rack).BootedFrom
		return from != nil && *from == "cd"
	}
	return rig
}

func TestFaultsOfTheSimulatedRack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faults string
		read   fault.Kind // of reading the power state; -1 = it can be read
		resets int        // how many resets take effect for one request
	}{
		"nothing":                             {``, -1, 1},
		"a session that ended":                {`{"kind":"unauthorized","count":1}`, -1, 1},
		"a connection reset while reading":    {`{"kind":"reset","count":1,"method":"GET"}`, -1, 1},
		"a moment away while reading":         {`{"kind":"unavailable","count":1,"method":"GET"}`, -1, 1},
		"away for good":                       {`{"kind":"unavailable"}`, fault.Busy, 0},
		"half of the JSON":                    {`{"kind":"truncated","path":"/redfish/v1/Systems/"}`, fault.Unreachable, 0},
		"a mistyped system":                   {`{"kind":"mistyped","path":"/redfish/v1/Systems/"}`, fault.Unreachable, 0},
		"an answer lost after taking effect":  {`{"kind":"reset","when":"after","method":"POST","path":"ComputerSystem.Reset"}`, -1, 1},
		"an answer lost before taking effect": {`{"kind":"reset","when":"before","method":"POST","path":"ComputerSystem.Reset"}`, -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			rack := startRack(t, sim.Config{})
			server := listed(t, rack)
			d := newDriver(t, quick())
			s := talk(t, d, server.info())
			_, err := s.Power(t.Context())
			require.NoError(t, err)

			setFaults(t, rack, c.faults)
			_, err = s.Power(t.Context())
			if c.read >= 0 {
				requireFault(t, err, c.read)
			} else {
				require.NoError(t, err)
			}
			_ = s.RequestPower(t.Context(), bmc.RequestOn) // the rack tells what became of it
			require.Len(t, listed(t, rack).resets(), c.resets)
		})
	}
}

func TestAWrongPasswordReachesTheSimulatedRackOnce(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	info := listed(t, rack).info()
	info["redfish_password"] = "wrong-1"
	d := newDriver(t, quick())
	for range 5 {
		_, err := talk(t, d, info).Power(t.Context())
		requireFault(t, err, fault.Denied)
	}
	require.Equal(t, 1, listed(t, rack).BadLogins)
}

func TestTheSimulatedRackInspected(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	inv, err := talk(t, newDriver(t, quick()), listed(t, rack).info()).Inspect(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, inv.Serial)
	require.NotEmpty(t, inv.CPUModel)
	require.NotEmpty(t, inv.SystemUUID)
	require.Equal(t, bmc.ModeUEFI, inv.BootMode)

	setFaults(t, rack, `{"kind":"mistyped","path":"/Processors/"}`)
	again, err := talk(t, newDriver(t, quick()), listed(t, rack).info()).Inspect(t.Context())
	require.NoError(t, err)
	require.Equal(t, inv.CPUs, again.CPUs)
	require.Equal(t, inv.NICs, again.NICs)
}
