package system_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// Paths at a BMC.
const (
	system  = "/redfish/v1/Systems/1"
	reset   = "ComputerSystem.Reset"
	insert  = "VirtualMedia.InsertMedia"
	eject   = "VirtualMedia.EjectMedia"
	session = "/redfish/v1/SessionService/Sessions"
)

// undisturbed are the power actions of a deploy that nothing happens to: the measure of "once".
func undisturbed(t *testing.T, s *stack) []action {
	t.Helper()
	s.calm.Do(func() {
		n := available(t, s, s.rack)
		n.deployed(n.provision("active", nil), digest(t, s.rack))
		s.actions = n.hardware().Actions
	})
	require.NotEmpty(t, s.actions, "the undisturbed deploy failed")
	return s.actions
}

// often is more than any fault here strikes, so that what is left of it tells how often it did.
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
		"whose answer to ejected media is lost": {
			faults: []fault{{Kind: "hang", When: "after", Method: "POST", Path: eject, Count: often}}, strikes: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack)
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

// strikes is how often a fault of the node's server struck, which was set to strike so many times.
func (n *node) strikes(f fault) int {
	n.t.Helper()
	var l struct {
		Faults []fault `json:"faults"`
	}
	a, err := request(http.MethodGet, n.r.url+"/servers/"+n.server+"/faults", nil, nil)
	require.NoError(n.t, err)
	require.NoError(n.t, a.decode(&l))
	i := slices.IndexFunc(l.Faults, func(left fault) bool { return left.Kind == f.Kind && left.Path == f.Path })
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
		"nobody listens": {change: at("http://127.0.0.1:1"), words: "connection refused"},
		"no such host":   {change: at("http://bmc.invalid"), words: "no such host"},
		"it is no BMC": {change: func(i map[string]any) {
			i["redfish_address"] = strings.Split(i["redfish_address"].(string), "/bmc/")[0]
		}, words: "there is no Redfish service at this redfish_address"},
		"it has no such system":           {change: func(i map[string]any) { i["redfish_system_id"] = "/redfish/v1/Systems/9" }, words: "404"},
		"it never answers":                {faults: []fault{{Kind: "hang"}}, words: "no answer in time (at most 2s)"},
		"it resets every connection":      {faults: []fault{{Kind: "reset"}}, words: "closed the connection without an answer"},
		"it always says later":            {faults: []fault{{Kind: "unavailable", Delay: "1s"}}, words: "503"},
		"it is slower than anybody waits": {faults: []fault{{Kind: "latency", Delay: "5s"}}, words: "no answer in time (at most 2s)"},
		"its answers are cut off":         {faults: []fault{{Kind: "truncated", Method: "GET", Path: system}}, words: "the answer is no whole JSON"},
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
			n.patch("driver_info/redfish_address", right.Address)
			n.patch("driver_info/redfish_system_id", right.System)
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
	r := ownRack(t, s.at.APIURL, sim.Config{Servers: 2, TLS: true})
	n := enroll(t, s, r, func(i map[string]any) { i["redfish_verify_ca"] = true })
	n.failed(n.provision("manage", nil), "enroll", "is signed by nobody we trust", "set redfish_verify_ca")
	require.Zero(t, n.hardware().BadLogins)
	require.Zero(t, n.hardware().Requests, "nothing was told to whoever answered")

	n.patch("driver_info/redfish_verify_ca", n.hardware().VerifyCA)
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

// A BMC that refuses the power-off of a clean-up changes no end state; what could not be done is tried again until it is.
func TestWhatCouldNotBeUndoneIsOwedUntilItIsDone(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "no_agent"})
	id := n.provision("active", nil)
	n.await("wait call-back")
	n.spoil(fault{Kind: "no_agent"}, fault{Kind: "unauthorized", Method: "POST", Path: reset})
	n.cancel(id)
	require.Equal(t, "cancelled", text(n.over(id).Outcome))
	now := n.now()
	require.Equal(t, "deploy failed", now.State)
	require.Equal(t, "power on", text(now.Power), "the BMC refused")
	require.Contains(t, text(now.LastError), "what it left is still to be undone")
	require.Contains(t, text(now.LastError), "request ForceOff of node "+n.uuid)
	require.Equal(t, []any{"power off", "eject media", "clear boot override"}, now.Internal["temper_owed"])
	sv := n.hardware()
	require.NotNil(t, sv.Media)

	n.spoil()
	before := len(sv.Actions)
	now = n.undone()
	n.free(now)
	require.NotContains(t, now.Internal, "temper_owed")
	n.leftByDeploy(now)
	n.deployed(n.provision("active", nil), digest(t, s.rack))
	got := effects(n.hardware().Actions[before:])
	require.Equal(t, append([]string{"ForceOff On->Off"}, effects(undisturbed(t, s))...), got, "first what was owed, then the deploy")
}

func TestABMCThatIsGoneInTheMiddleIsWaitedForAndThenGivenUp(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "reset", Method: "POST", Path: insert})
	id := n.provision("active", nil)
	n.deployFailed(id, "insert virtual media", "closed the connection without an answer")
	o := n.over(id)
	st, ok := o.step("deploy")
	require.True(t, ok, "%s", o)
	require.Equal(t, "failed", st.State)
	require.Equal(t, 10, st.Attempts, "five rounds of two conductors: %s", o)
	n.spoil()
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}
