package ipmi_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/sim"
)

// rack is a rack with one server.
type rack struct {
	t   *testing.T
	url string
}

func startRack(t *testing.T, c sim.Config) *rack {
	t.Helper()
	c.Servers, c.IPMI, c.DataDir = 1, true, t.TempDir()
	c.PowerDelay, c.BootDelay = 20*time.Millisecond, 20*time.Millisecond
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
	return &rack{t: t, url: r.URL()}
}

// listing is what the tests read of the rack's only server.
type listing struct {
	Name         string
	Address      string `json:"ipmi_address"`
	Port         int    `json:"ipmi_port"`
	Username     string `json:"ipmi_username"`
	Password     string `json:"ipmi_password"`
	Sessions     int    `json:"ipmi_sessions"`
	BadLogins    int    `json:"bad_logins"`
	PowerActions []struct {
		ResetType string `json:"reset_type"`
	} `json:"power_actions"`
	BootOverride *string `json:"boot_override"`
	BootEnabled  string  `json:"boot_override_enabled"`
	BootMode     string  `json:"boot_override_mode"`
}

func (r *rack) server() listing {
	r.t.Helper()
	resp, err := http.Get(r.url + "/servers")
	require.NoError(r.t, err)
	defer resp.Body.Close()
	var all []listing
	require.NoError(r.t, json.NewDecoder(resp.Body).Decode(&all))
	require.Len(r.t, all, 1)
	return all[0]
}

func (l listing) resets() (types []string) {
	for _, a := range l.PowerActions {
		types = append(types, a.ResetType)
	}
	return types
}

// info is the driver_info. Without the timeout of the boot flags each write is one command.
func (r *rack) info(more map[string]any) map[string]any {
	l := r.server()
	info := map[string]any{
		"ipmi_address": l.Address, "ipmi_port": float64(l.Port), "ipmi_username": l.Username, "ipmi_password": l.Password,
		"ipmi_disable_boot_timeout": false,
	}
	for k, v := range more {
		info[k] = v
	}
	return info
}

func (r *rack) faults(list string) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPut, r.url+"/servers/"+r.server().Name+"/faults", strings.NewReader(`{"faults":[`+list+`]}`))
	require.NoError(r.t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	require.Less(r.t, resp.StatusCode, 300)
}

func (r *rack) rig(more map[string]any) bmctest.Rig {
	return bmctest.Rig{
		Type: hardwareType(), Driver: ipmi.New(quick()), Target: bmc.Target{Node: nodeID, Info: r.info(more)},
		Hang: func() func() {
			r.faults(`{"kind":"silence"}`)
			return func() { r.faults("") }
		},
		BadInfo: map[string]any{"ipmi_address": "bmc:623"},
	}
}

func TestConformanceWithTheSimulatedRack(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"cipher suite 17": {"ipmi_cipher_suite": 17.0},
		"cipher suite 3":  {"ipmi_cipher_suite": 3.0},
		"the better one":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			bmctest.Suite(t, func(t *testing.T) bmctest.Rig { return startRack(t, sim.Config{}).rig(more) })
		})
	}
}

func TestConformanceWhenEachPacketComesTwice(t *testing.T) {
	t.Parallel()
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		r := startRack(t, sim.Config{})
		r.faults(`{"kind":"repeated_packet"},{"kind":"repeated_packet","when":"after"}`)
		rig := r.rig(nil)
		rig.Hang = nil
		return rig
	})
}

// A packet is lost, then its answer, then each packet of the next command, ...
func TestLostPacketsAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			r := startRack(t, sim.Config{})
			s := open(t, newDriver(t, quick()), r.info(nil))
			r.faults(`{"kind":"lost_packet","count":1,"when":"` + when + `"}`)
			_, err := s.Power(t.Context())
			require.NoError(t, err, "the first packet of the login")
			sessions := r.server().Sessions
			for _, command := range []string{"Get Chassis Status", "Get System Boot Options", "Set System Boot Options", "Chassis Control"} {
				r.faults(`{"kind":"lost_packet","count":1,"when":"` + when + `","command":"` + command + `"}`)
				_, err := s.Power(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE}), command)
				require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn), command)
			}
			require.Equal(t, sessions, r.server().Sessions, "a lost packet needs no new login")
		})
	}
}

func TestALoginSurvivesTheLossOfAnyOfItsPackets(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "after"} {
		for packet := range 5 { // Open Session, RAKP 1, RAKP 3, Set Session Privilege Level, Get Chassis Status
			t.Run(when, func(t *testing.T) {
				r := startRack(t, sim.Config{})
				// The packets before pass: their faults do nothing.
				list := strings.Repeat(`{"kind":"lost_packet","count":1,"probability":0,"when":"`+when+`"},`, packet)
				r.faults(list + `{"kind":"lost_packet","count":1,"when":"` + when + `"}`)
				_, err := open(t, newDriver(t, quick()), r.info(nil)).Power(t.Context())
				require.NoError(t, err)
				require.Zero(t, r.server().BadLogins, "a lost packet is no wrong password")
			})
		}
	}
}

func TestARestartIsSentOnceWhateverIsLost(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			r := startRack(t, sim.Config{})
			c := quick()
			c.RequestTimeout = 2 * time.Second
			s := open(t, newDriver(t, c), r.info(nil))
			require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
			require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
			r.faults(`{"kind":"lost_packet","count":1,"when":"` + when + `","command":"Chassis Control"}`)
			err := s.Restart(t.Context())
			require.Equal(t, fault.OutcomeUnknown, fault.KindOf(err), "%v", err)
			want := map[string][]string{"before": {"On"}, "after": {"On", "ForceRestart"}}
			require.Equal(t, want[when], r.server().resets())
		})
	}
}

func TestABMCWithoutAFreeSessionIsBusy(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	r.faults(`{"kind":"session_limit"}`)
	s := open(t, newDriver(t, quick()), r.info(nil))
	_, err := s.Power(t.Context())
	require.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
	require.Equal(t, fault.BMCBusy, fault.CodeOf(err))
	require.Positive(t, bmc.RetryAfter(err))
	r.faults("")
	_, err = s.Power(t.Context())
	require.NoError(t, err)
}

func TestSessionsAreGivenBack(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{MaxSessions: 1})
	d := ipmi.New(quick())
	for range 3 { // conversations share the session
		_, err := open(t, d, r.info(nil)).Power(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, 1, r.server().Sessions)
	d.Close(t.Context())
	require.Zero(t, r.server().Sessions)

	c := quick()
	c.SessionIdle = 20 * time.Millisecond
	_, err := open(t, newDriver(t, c), r.info(nil)).Power(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.server().Sessions == 0 }, 10*time.Second, time.Millisecond, "an idle one is given back")
}

func TestAWrongPasswordIsNoFailedLogin(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(map[string]any{"ipmi_password": "wrong"}))
	for range 3 {
		_, err := s.Power(t.Context())
		require.Equal(t, fault.Denied, fault.KindOf(err), "%v", err)
	}
	require.Zero(t, r.server().BadLogins)
}

func TestTheBootFlagsAreKept(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	changes := 0
	d := newDriver(t, quick())
	s, err := d.Open(t.Context(), bmc.Target{
		Node: nodeID, Info: r.info(map[string]any{"ipmi_disable_boot_timeout": nil}), Guard: func(context.Context, bmc.Request) (time.Time, error) {
			changes++
			return time.Time{}, nil
		},
	})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DevicePXE, Mode: bmc.ModeBIOS, Persistent: true}))
	require.Equal(t, 2, changes, "the timeout and the flags")
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceCDROM}))
	require.Equal(t, 3, changes, "the timeout is off already")
	l := r.server()
	require.Equal(t, []string{"Cd", "Once", "Legacy"}, []string{*l.BootOverride, l.BootEnabled, l.BootMode})
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceNone}))
	require.Nil(t, r.server().BootOverride)
	require.NoError(t, s.SetBoot(t.Context(), bmc.Boot{Device: bmc.DeviceDisk}))
	require.Equal(t, "UEFI", r.server().BootMode, "what the mode is if nobody says")
}

// A command that was sent may still take effect, even if the BMC then refuses the login to send it again.
func TestACommandWithoutAnAnswerIsNotRefusedByTheNextLogin(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	r.faults(`{"kind":"lost_packet","when":"after","command":"Chassis Control"},{"kind":"session_limit"}`)
	err = s.RequestPower(t.Context(), bmc.RequestOn)
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	require.True(t, fault.NoAnswer(err))
	require.ErrorContains(t, err, "sessions are all in use")
	require.Equal(t, []string{"On", "On"}, r.server().resets())
}

func TestACommandIsNotSentAfterTheTimeOfItsPermission(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s, err := newDriver(t, quick()).Open(t.Context(), bmc.Target{
		Node: nodeID, Info: r.info(nil), Guard: func(context.Context, bmc.Request) (time.Time, error) { return time.Now(), nil },
	})
	require.NoError(t, err)
	defer s.Close()
	err = s.RequestPower(t.Context(), bmc.RequestOn)
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	require.True(t, bmc.IsNotSent(err))
	require.Empty(t, r.server().PowerActions)
}

func TestAnInterruptIsSentOnceWhateverIsLost(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	c := quick()
	c.RequestTimeout = 2 * time.Second
	s := open(t, newDriver(t, c), r.info(nil))
	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
	r.faults(`{"kind":"lost_packet","count":1,"when":"after","command":"Chassis Control"}`)
	require.Equal(t, fault.OutcomeUnknown, fault.KindOf(s.InjectNMI(t.Context())))
	require.Equal(t, []string{"On", "Nmi"}, r.server().resets())
	r.faults(`{"kind":"lost_packet","count":1,"when":"after","command":"Cold Reset"}`)
	require.Equal(t, fault.OutcomeUnknown, fault.KindOf(s.RestartBMC(t.Context(), false)))
	require.Eventually(t, func() bool { _, err := s.Power(t.Context()); return err == nil }, 10*time.Second, time.Millisecond, "it is back, with a new session")
}

// The rack returns at most 24 bytes of a sensor's record at once, so the driver reads each in parts.
func TestTheHealthIsThatOfTheChassisAndTheSensors(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	s := open(t, newDriver(t, quick()), r.info(nil))
	health := func(faults string) bmc.Health {
		t.Helper()
		r.faults(faults)
		h, err := s.Health(t.Context())
		require.NoError(t, err)
		return h
	}
	h := health("")
	require.Equal(t, node.HealthOK, h.Status)
	require.Equal(t, []bmc.Reading{{Quantity: bmc.Temperature, Place: bmc.PlaceIntake, Value: 22}}, h.Readings, "of a server that is off")

	require.NoError(t, s.RequestPower(t.Context(), bmc.RequestOn))
	require.Eventually(t, func() bool { p, err := s.Power(t.Context()); return err == nil && p == bmc.PowerOn }, 10*time.Second, time.Millisecond)
	h = health("")
	require.Equal(t, node.HealthOK, h.Status)
	require.Empty(t, h.Reasons)
	require.Contains(t, h.Readings, bmc.Reading{Quantity: bmc.Temperature, Place: bmc.PlaceProcessor, Value: 54})
	require.Contains(t, h.Readings, bmc.Reading{Quantity: bmc.FanSpeed, Value: 8400})

	require.ElementsMatch(t, []node.HealthReason{
		{Kind: node.ComponentFan, Severity: node.HealthCritical, Message: "a fan or the cooling has failed"},
		{Kind: node.ComponentFan, Name: "Fan 1", Severity: node.HealthCritical, Message: "0 RPM, at or below the lower critical threshold"},
	}, health(`{"kind":"failed_fan"}`).Reasons)
	h = health(`{"kind":"overheated"}`)
	require.Equal(t, node.HealthCritical, h.Status)
	require.Equal(t, []node.HealthReason{
		{Kind: node.ComponentTemperature, Name: "CPU1 Temp", Severity: node.HealthCritical, Message: "98 degrees C, at or above the upper critical threshold"},
	}, h.Reasons)
}

// A BMC that gives no answer in time has twice as long for the next one. What other conductors have learned holds here, too, and
// a time that driver_info fixes is not changed.
func TestHowLongAnswersAreAwaitedIsLearnedOrFixed(t *testing.T) {
	t.Parallel()
	r := startRack(t, sim.Config{})
	c := quick()
	c.RequestTimeout, c.MostTimeout = time.Second, 3*time.Second
	d := newDriver(t, c)
	talk := func(more map[string]any, learned time.Duration) bmc.Session {
		t.Helper()
		s, err := d.Open(t.Context(), bmc.Target{Node: nodeID, Info: r.info(more), AnswerWithin: learned})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	s := talk(nil, 0)
	_, err := s.Power(t.Context())
	require.NoError(t, err)
	require.Equal(t, time.Second, s.AnswerWithin())
	r.faults(`{"kind":"silence"}`)
	_, err = s.Power(t.Context())
	require.Equal(t, fault.Unreachable, fault.KindOf(err), "%v", err)
	require.Equal(t, 2*time.Second, s.AnswerWithin(), "twice as long")
	require.Equal(t, 1, d.Slow())
	require.Equal(t, 3*time.Second, talk(nil, time.Hour).AnswerWithin(), "what others have learned, but not more than may be")

	fixed := talk(map[string]any{bmc.PropRequestTimeout: 1.5}, 0)
	require.Equal(t, 1500*time.Millisecond, fixed.AnswerWithin())
	_, err = fixed.Power(t.Context())
	require.Error(t, err)
	require.Equal(t, 1500*time.Millisecond, fixed.AnswerWithin())
	_, err = d.Open(t.Context(), bmc.Target{Node: nodeID, Info: r.info(map[string]any{bmc.PropRequestTimeout: 0.0})})
	require.ErrorContains(t, err, "bmc_request_timeout is not a number of seconds from 1 to 60")
}
