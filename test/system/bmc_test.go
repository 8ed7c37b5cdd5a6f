package system_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// Paths at a BMC.
const (
	system  = "SYSTEM" // stands for the path of the server's system
	reset   = "ComputerSystem.Reset"
	insert  = "VirtualMedia.InsertMedia"
	eject   = "VirtualMedia.EjectMedia"
	session = "/redfish/v1/SessionService/Sessions"
)

// undisturbed are the power actions of an undisturbed deploy, which define what "once" means.
func undisturbed(t *testing.T, s *stack) []action {
	t.Helper()
	s.calm.Do(func() {
		n := available(t, s, s.rack.of(standard))
		n.deployed(n.provision("active", nil), digest(t, s.rack))
		s.actions = n.hardware().Actions
	})
	require.NotEmpty(t, s.actions, "the undisturbed deploy failed")
	return s.actions
}

// often is a count larger than any fault here strikes, so that the remaining count tells how often it struck.
const often = 50

func TestADeployLivesThroughABMCThatMisbehaves(t *testing.T) {
	t.Parallel()
	s := world(t)
	want := undisturbed(t, s)
	for name, c := range map[string]struct {
		faults  []fault
		strikes int // how often the first fault strikes; 0 = any number, but some
		unheard int // power requests that did nothing
	}{
		"that is slow":               {faults: []fault{{Kind: "latency", Delay: "400ms", Count: often}}},
		"that hangs":                 {faults: []fault{{Kind: "hang", Method: "GET", Path: system, Count: 1}}, strikes: 1},
		"that resets connections":    {faults: []fault{{Kind: "reset", Count: 3}}, strikes: 3},
		"that says later":            {faults: []fault{{Kind: "unavailable", Delay: "1s", Count: 3}}, strikes: 3},
		"that forgets its sessions":  {faults: []fault{{Kind: "unauthorized", Method: "GET", Path: system, Count: 1}}, strikes: 1},
		"that cuts its answers off":  {faults: []fault{{Kind: "truncated", Method: "GET", Path: system, Count: 2}}, strikes: 2},
		"that mixes up its types":    {faults: []fault{{Kind: "mistyped", Method: "GET", Path: system, Count: 2}}, strikes: 2},
		"that loses a power request": {faults: []fault{{Kind: "lost_power", Count: 1}}, strikes: 1, unheard: 1},
		"that takes its time":        {faults: []fault{{Kind: "slow_power", Delay: "2s", Count: often}}, strikes: 2},
		"that hangs at the power request": {
			faults: []fault{{Kind: "hang", Method: "POST", Path: reset, Count: 1}}, strikes: 1,
		},
		"whose answers to power requests are lost": {
			faults: []fault{{Kind: "reset", When: "after", Method: "POST", Path: reset, Count: often}}, strikes: 2,
		},
		"whose answers to power requests never come": {
			faults: []fault{{Kind: "hang", When: "after", Method: "POST", Path: reset, Count: often}}, strikes: 2,
		},
		"whose answer to the boot override is lost": {
			faults: []fault{{Kind: "reset", When: "after", Method: "PATCH", Path: system, Count: often}}, strikes: 1,
		},
		"whose answer to inserted media is lost": {
			faults: []fault{{Kind: "reset", When: "after", Method: "POST", Path: insert, Count: often}}, strikes: 1,
		},
		"that downloads an image before it answers": {
			faults: []fault{{Kind: "slow_insert", Delay: "4s", Count: often}}, strikes: 1,
		},
		"whose answer to ejected media is lost": {
			faults: []fault{{Kind: "hang", When: "after", Method: "POST", Path: eject, Count: often}}, strikes: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack.of(standard))
			n.spoil(c.faults...)
			n.deployed(n.provision("active", nil), digest(t, s.rack))
			struck := n.strikes(c.faults[0])
			if c.strikes > 0 {
				require.Equal(t, c.strikes, struck)
			}
			require.Positive(t, struck, "the fault was there")
			got := n.hardware().Actions
			require.Equal(t, effects(want), effects(got), "the server was switched as an undisturbed one")
			require.Len(t, got, len(want)+c.unheard, "nothing was asked for twice: %v", got)
			require.Equal(t, []string{"write_image"}, n.hardware().steps(), "the image was written once")
		})
	}
}

// The BMC shows the server on, and it does not begin to boot. It boots when it was off and on once more.
func TestAServerThatDoesNotBeginToBootIsDeployedAllTheSame(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack.of(standard))
	n.done(n.power("power on"), "available")
	eventually(t, patience, func() error {
		if p := n.now().Internal; p["temper_reports_boot_progress"] != true {
			return fmt.Errorf("it is not known that the BMC tells of boots: %v", p)
		}
		return nil
	})
	n.done(n.power("power off"), "available")
	n.spoil(fault{Kind: "no_boot", Count: 1})
	id := n.provision("active", nil)
	n.deployed(id, digest(t, s.rack))
	o, err := n.operation(id)
	require.NoError(t, err)
	st, _ := o.step("deploy")
	require.Contains(t, text(st.Note), "no sign of booting")
	require.Equal(t, 1, n.hardware().AgentBoots)
}

// sushy-tools, which Metal3 uses as a BMC, has no boot override for one boot only, and can't disable the override.
func TestANodeWhoseBMCHasNoBootForOnceLivesAWholeLife(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "always_continuous"}, fault{Kind: "slow_insert", Delay: "3s"})
	fromDisk := func() {
		t.Helper()
		sv := n.hardware()
		require.Empty(t, sv.Media)
		require.NotEmpty(t, sv.BootOverride)
		require.Equal(t, "Hdd", sv.BootOverride)
	}
	n.done(n.provision("active", nil), "active")
	fromDisk()
	eventually(t, patience, func() error {
		if from := n.hardware().BootedFrom; from != "disk" {
			return fmt.Errorf("it has booted from %q", from)
		}
		return nil
	})
	n.done(n.power("power off"), "active")
	n.done(n.power("power on"), "active")
	n.done(n.provision("deleted", nil), "available")
	fromDisk()
}

// An operation that is ended while the image is on its way leaves no image in the drive.
func TestACancelledDeployEjectsTheImageThatComesLate(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "slow_insert", Delay: "8s", Count: often})
	id := n.provision("active", nil)
	catches(t, patience, func() error {
		o, err := n.operation(id)
		if err == nil && text(o.WaitingFor) != "the BMC to show the virtual medium" {
			err = fmt.Errorf("it waits for %q", text(o.WaitingFor))
		}
		return err
	})
	require.Equal(t, 1, n.strikes(fault{Kind: "slow_insert", Count: often}))
	n.cancel(id)
	n.cancelled(id, "deploy failed")
	require.Equal(t, 1, n.strikes(fault{Kind: "slow_insert", Count: often}), "it was sent once")
	require.NoError(t, n.hardware().clean())
}

// strikes returns how often a fault of the node's server has struck, given its count at first.
func (n *node) strikes(f fault) int {
	n.t.Helper()
	var l struct {
		Faults []fault `json:"faults"`
	}
	a, err := request(http.MethodGet, n.r.url+"/servers/"+n.server+"/faults", nil, nil)
	require.NoError(n.t, err)
	require.NoError(n.t, a.Decode(&l))
	path := n.r.path(n.t, n.server, f.Path)
	i := slices.IndexFunc(l.Faults, func(left fault) bool { return left.Kind == f.Kind && left.Path == path })
	if i < 0 {
		return f.Count
	}
	return f.Count - l.Faults[i].Count
}

func TestABMCThatIsNoGoodLeavesTheNodeEnrolled(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, c := range map[string]struct {
		change func(map[string]any)
		faults []fault
		words  string
	}{
		"nobody listens": {change: at("http://127.0.0.1:1"), words: "the connection was refused"},
		"no such host":   {change: at("http://bmc.invalid"), words: "no address is known for bmc.invalid"},
		"it is no BMC": {change: func(i map[string]any) {
			i["redfish_address"] = strings.Split(i["redfish_address"].(string), "/bmc/")[0]
		}, words: "there is no Redfish service at this redfish_address"},
		"it has no such system":           {change: func(i map[string]any) { i["redfish_system_id"] = "/redfish/v1/Systems/9" }, words: "404"},
		"it never answers":                {faults: []fault{{Kind: "hang"}}, words: "no answer in time (at most 2s)"},
		"it resets every connection":      {faults: []fault{{Kind: "reset"}}, words: "closed the connection without an answer"},
		"it always says later":            {faults: []fault{{Kind: "unavailable", Delay: "1s"}}, words: "503"},
		"it is slower than anybody waits": {faults: []fault{{Kind: "latency", Delay: "5s"}}, words: "no answer in time (at most 2s)"},
		"its answers are cut off":         {faults: []fault{{Kind: "truncated", Method: "GET", Path: system}}, words: "the answer is incomplete JSON"},
		"its answers are mixed up":        {faults: []fault{{Kind: "mistyped", Method: "GET", Path: system}}, words: "PowerState is not a string"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := c.change
			if change == nil {
				change = func(map[string]any) {}
			}
			n := enroll(t, s, s.rack, change)
			right := n.hardware()
			n.spoil(c.faults...)
			now := n.failed(n.provision("manage", nil), "enroll", c.words)
			require.Nil(t, now.Target)
			require.Nil(t, now.Power)
			require.False(t, now.Maintenance)
			require.Empty(t, n.hardware().Actions)

			n.spoil()
			n.repatch(map[string]any{
				"driver_info/redfish_address": right.Address, "driver_info/redfish_system_id": right.System, "driver_info/redfish_password": right.Password,
			})
			n.done(n.provision("manage", nil), "manageable")
		})
	}
}

func at(address string) func(map[string]any) {
	return func(i map[string]any) { i["redfish_address"] = address }
}

func TestAWrongPasswordIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, change := range map[string]func(map[string]any){
		"with sessions": func(i map[string]any) { i["redfish_password"] = "wrong" },
		"with basic authentication": func(i map[string]any) {
			i["redfish_password"], i["redfish_auth_type"] = "wrong", "basic"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := enroll(t, s, s.rack, change)
			for range 5 {
				now := n.failed(n.provision("manage", nil), "enroll", "401")
				require.NotContains(t, text(now.LastError), "wrong", "the password is in no error")
			}
			require.LessOrEqual(t, n.hardware().BadLogins, 2, "each of the two conductors showed it once: no account is locked by retries")

			n.patch("driver_info/redfish_password", n.hardware().Password)
			n.done(n.provision("manage", nil), "manageable")
			require.LessOrEqual(t, n.hardware().BadLogins, 2)
		})
	}
}

func TestACertificateThatDoesNotVerifyIsRefused(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, s.APIURL, sim.Config{Servers: 2, TLS: true})
	n := enroll(t, s, r, func(i map[string]any) { i["redfish_verify_ca"] = true })
	n.failed(n.provision("manage", nil), "enroll", "is not signed by a trusted CA", "set redfish_verify_ca")
	require.Zero(t, n.hardware().BadLogins)
	require.Zero(t, n.hardware().Requests, "nothing was told to whoever answered")

	ca, err := os.ReadFile(n.hardware().VerifyCA.(string))
	require.NoError(t, err)
	n.repatch(map[string]any{"driver_info/redfish_verify_ca": string(ca), "driver_info/redfish_password": n.hardware().Password})
	n.done(n.provision("manage", nil), "manageable")

	other := enroll(t, s, r, func(i map[string]any) { i["redfish_verify_ca"] = false })
	other.done(other.provision("manage", nil), "manageable")
}

func TestAPowerRequestThatIsNeverHeardFailsByItself(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	n.spoil(fault{Kind: "lost_power"})
	now := n.failed(n.power("power on"), "manageable", `power state is not "power on"`)
	require.Equal(t, "power off", text(now.Power))
	n.spoil()
	now = n.done(n.power("power on"), "manageable")
	require.Equal(t, "power on", text(now.Power))
}

func TestAServerThatIsDeafToSoftPowerOffStaysOn(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	n.done(n.power("power on"), "manageable")
	n.spoil(fault{Kind: "lost_power"})
	a := s.must(t, http.StatusAccepted, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/power", map[string]any{"target": "soft power off", "timeout": 1})
	now := n.failed(n.accepted(a), "manageable", "GracefulShutdown")
	require.Equal(t, "power on", text(now.Power))
}

func TestABMCThatIsGoneInTheMiddleIsWaitedForAndThenGivenUp(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack.of(standard))
	n.spoil(fault{Kind: "reset", Method: "POST", Path: insert})
	id := n.provision("active", nil)
	// Each of five rounds reads the medium for virtual_media_timeout before it sends again.
	eventually(t, 5*patience, func() error {
		o, err := n.operation(id)
		if err == nil && o.Outcome == nil {
			err = fmt.Errorf("not over: %s", o)
		}
		return err
	})
	n.deployFailed(id, "insert virtual media", "closed the connection without an answer")
	o := n.over(id)
	st, ok := o.step("deploy")
	require.True(t, ok, "%s", o)
	require.Equal(t, "failed", st.State)
	require.Equal(t, 5, st.Failures, "%s", o)
	require.GreaterOrEqual(t, st.Attempts, 10, "five rounds of two conductors, and more if one was disturbed: %s", o)
	n.spoil()
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}
