package system_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

func TestAnAgentThatNeverComesIsWaitedForAndThenGivenUp(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, c := range map[string]struct {
		make   func(*testing.T, *stack, *rack) *node
		verb   string
		wait   string
		failed string
		power  string
	}{
		"a deploy":              {available, "active", "wait call-back", "deploy failed", "power off"},
		"a cleaning":            {manageable, "provide", "clean wait", "clean failed", "power on"},
		"an inspection in band": {manageable, "inspect", "inspect wait", "inspect failed", "power off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := c.make(t, s, s.rack)
			if c.verb == "inspect" {
				n.patch("inspect_interface", "agent")
			}
			n.spoil(fault{Kind: "no_agent"})
			id := n.provision(c.verb, nil)
			now := n.await(c.wait)
			require.Nil(t, now.Reservation, "nobody holds a node that waits")
			o, err := n.operation(id)
			require.NoError(t, err)
			require.Contains(t, text(o.WaitingFor), "agent")
			require.Contains(t, fmt.Sprint(now.Internal["temper"]), "the agent's call after boot", "and says for what")

			now = n.failed(id, c.failed, "Timeout reached while waiting for callback for node "+n.uuid)
			require.Equal(t, c.power, text(now.Power))
			require.False(t, now.Maintenance, "no clean step was at work")
			sv := n.hardware()
			require.Empty(t, sv.Media)
			require.Empty(t, sv.BootOverride)
			require.Equal(t, c.power == "power on", sv.Powered)
			if c.verb == "active" {
				n.leftByDeploy(now)
			}
		})
	}
}

func TestADeployLivesThroughAnAgentThatIsHardToReach(t *testing.T) {
	t.Parallel()
	s := world(t)
	want := undisturbed(t, s)
	for name, f := range map[string]fault{
		"the answer to write_image is lost":     {Kind: "reset", When: "after", Command: "write_image", Count: 1},
		"the answer to write_image never comes": {Kind: "hang", When: "after", Command: "write_image", Count: 1},
		"write_image does not arrive":           {Kind: "reset", Command: "write_image", Count: 1},
		"it is busy when write_image comes":     {Kind: "unavailable", Command: "write_image", Count: 1},
		"the list of its steps is lost":         {Kind: "reset", When: "after", Command: "get_deploy_steps", Count: 1},
		"its list of commands is cut off":       {Kind: "truncated", Method: "GET", Path: "/v1/commands", Count: 2},
		"its list of commands is mixed up":      {Kind: "mistyped", Method: "GET", Path: "/v1/commands", Count: 2},
		"it is slow":                            {Kind: "latency", Path: "/v1/", Delay: "300ms", Count: often},
		"the answer to power_off is lost":       {Kind: "reset", When: "after", Command: "power_off", Count: 1},
		"power_off does not arrive":             {Kind: "reset", Command: "power_off", Count: 1},
		"the answer to its boot loader is lost": {Kind: "reset", When: "after", Command: "get_partition_uuids", Count: 1},
		"it does not answer for a while":        {Kind: "reset", Path: "/v1/", Count: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := available(t, s, s.rack)
			n.spoil(f)
			n.deployed(n.provision("active", nil), digest(t, s.rack))
			require.Positive(t, n.strikes(f), "the fault was there")
			sv := n.hardware()
			require.Equal(t, []string{"write_image"}, sv.steps(), "asked, not repeated")
			require.Equal(t, effects(want), effects(sv.Actions))
		})
	}
}

func TestAnAgentThatRefusesOurTokenEndsTheDeploy(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "unauthorized", Path: "/v1/commands"})
	n.deployFailed(n.provision("active", nil), "on the agent", "401")
	require.Empty(t, n.hardware().steps())
}

func TestAnAgentThatDiesInTheMiddle(t *testing.T) {
	t.Parallel()
	s := world(t)

	t.Run("of writing the image is booted again, and writes it from its beginning", func(t *testing.T) {
		t.Parallel()
		n := available(t, s, s.rack)
		n.spoil(fault{Kind: "agent_dies", Command: "write_image", Count: 1})
		n.deployed(n.provision("active", nil), digest(t, s.rack))
		sv := n.hardware()
		require.Equal(t, []string{"write_image", "write_image"}, sv.steps())
		require.Equal(t, []string{"On Off->On", "ForceOff On->Off", "On Off->On", "agent On->Off", "On Off->On"}, effects(sv.Actions))
	})

	t.Run("of writing the image twice fails the deploy", func(t *testing.T) {
		t.Parallel()
		n := available(t, s, s.rack)
		n.spoil(fault{Kind: "agent_dies", Command: "write_image", Count: 2})
		n.deployFailed(n.provision("active", nil), "on the agent")
		sv := n.hardware()
		require.Empty(t, sv.DiskSHA256)
		require.Equal(t, []string{"write_image", "write_image"}, sv.steps())
		require.Equal(t, []string{"On Off->On", "ForceOff On->Off", "On Off->On", "ForceOff On->Off"}, effects(sv.Actions))
		n.deployed(n.provision("active", nil), digest(t, s.rack))
	})

	t.Run("of erasing the disks is booted again, and erases them from their beginning", func(t *testing.T) {
		t.Parallel()
		n := manageable(t, s, s.rack)
		n.spoil(fault{Kind: "agent_dies", Command: "erase_devices", Count: 1})
		n.done(n.provision("provide", nil), "available")
		require.Equal(t, []string{"erase_devices_metadata", "erase_devices", "erase_devices"}, n.hardware().steps())
		require.NoError(t, n.hardware().clean())
	})

	t.Run("of a clean step that can't be begun anew puts the node into maintenance", func(t *testing.T) {
		t.Parallel()
		n := manageable(t, s, s.rack)
		n.spoil(fault{Kind: "agent_dies", Command: "erase_pstore", Count: 1})
		now := n.failed(n.provision("clean", cleanSteps("erase_devices_metadata", "erase_pstore")), "clean failed", "on the agent")
		require.True(t, now.Maintenance)
		require.Equal(t, "clean failure", text(now.Fault))
		require.Equal(t, text(now.LastError), text(now.MaintenanceReason))
		require.Equal(t, "power on", text(now.Power), "somebody will want to look")
		sv := n.hardware()
		require.Empty(t, sv.Media)
		require.Equal(t, []string{"erase_devices_metadata", "erase_pstore"}, sv.steps())

		s.must(t, http.StatusAccepted, http.MethodDelete, "/v1/nodes/"+n.uuid+"/maintenance", nil)
		require.Nil(t, n.now().Fault)
		n.provisioned("manage", "manageable")
		now = n.done(n.provision("provide", nil), "available")
		require.Equal(t, "power off", text(now.Power))
		require.NoError(t, n.hardware().clean())
	})
}

// The token is told in the clear once, and again to the same source until the first heartbeat, three times at most.
func TestALostAnswerToAnAgentDoesNotKillItsBoot(t *testing.T) {
	t.Parallel()
	s := world(t)
	for name, b := range map[string]between{
		"the first lookup":          losing("/v1/lookup", 1),
		"the first three lookups":   losing("/v1/lookup", 3),
		"the first heartbeat":       losing("/v1/heartbeat/", 1),
		"no answer, all come twice": twice,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ownRack(t, newProxy(t, s.APIURL, b), sim.Config{Servers: 1})
			n := available(t, s, r)
			n.deployed(n.provision("active", nil), digest(t, r))
			sv := n.hardware()
			require.Equal(t, 1, sv.AgentBoots)
			require.Equal(t, []string{"write_image"}, sv.steps())
			require.Equal(t, []string{"On Off->On", "agent On->Off", "On Off->On"}, effects(sv.Actions))
		})
	}
}

func TestAnAgentIsToldItsTokenThreeTimesMoreAndNeverAgain(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, newProxy(t, s.APIURL, losing("/v1/lookup", 4)), sim.Config{Servers: 1})
	n := available(t, s, r)
	n.deployFailed(n.provision("active", nil), "Timeout reached while waiting for callback for node ")
	require.Zero(t, n.hardware().Heartbeats, "the agent locked itself down")
	n.deployed(n.provision("active", nil), digest(t, r))
}

func TestALostAnswerToInspectionDataIsNoLoss(t *testing.T) {
	t.Parallel()
	s := world(t)
	r := ownRack(t, newProxy(t, s.APIURL, losing("/v1/continue_inspection", 1)), sim.Config{Servers: 1})
	n := manageable(t, s, r)
	n.patch("inspect_interface", "agent")
	n.done(n.provision("inspect", nil), "manageable")
	n.inspected()
	require.NoError(t, n.hardware().clean())
}

// introduction is an agent's lookup, sent by the test.
func (n *node) introduction(t *testing.T, macs []string) (status int, token string) {
	t.Helper()
	a, err := n.s.ask(http.MethodGet, "/v1/lookup?addresses="+url.QueryEscape(strings.Join(macs, ",")), nil)
	require.NoError(t, err)
	var l struct {
		Node struct {
			UUID string `json:"uuid"`
		} `json:"node"`
		Config struct {
			Token string `json:"agent_token"`
		} `json:"config"`
	}
	if a.Status == http.StatusOK {
		require.NoError(t, a.Decode(&l))
		require.Equal(t, n.uuid, l.Node.UUID)
	}
	return a.Status, l.Config.Token
}

func (n *node) heartbeat(t *testing.T, token, callback string) answer {
	t.Helper()
	a, err := n.s.ask(http.MethodPost, "/v1/heartbeat/"+n.uuid, map[string]any{
		"callback_url": callback, "agent_token": token, "agent_version": "11.4.0",
	})
	require.NoError(t, err)
	return a
}

func TestAnAgentMovesNoNodeButItsOwn(t *testing.T) {
	t.Parallel()
	s := world(t)
	mine, other := available(t, s, s.rack), available(t, s, s.rack)
	const masked = "******"
	callback := "https://127.0.0.1:1/agent"
	macs := mine.hardware().MACs

	status, _ := mine.introduction(t, macs)
	require.Equal(t, http.StatusNotFound, status, "a node that waits for no agent does not say who it is")

	ids := map[*node]string{}
	for _, n := range []*node{mine, other} {
		n.spoil(fault{Kind: "no_agent"})
		ids[n] = n.provision("active", nil)
		n.await("wait call-back")
	}
	status, token := mine.introduction(t, macs)
	require.Equal(t, http.StatusOK, status)
	require.GreaterOrEqual(t, len(token), 32)
	_, again := mine.introduction(t, macs[:1])
	require.Equal(t, masked, again, "another source is not told")
	_, again = mine.introduction(t, macs)
	require.Equal(t, token, again, "the same source is")
	_, foreign := other.introduction(t, other.hardware().MACs)
	require.NotEqual(t, token, foreign)

	before := other.written()
	for name, c := range map[string]struct {
		n        *node
		token    string
		callback string
		words    string
	}{
		"the other node's with my token": {other, token, callback, "Invalid or missing agent token received."},
		"mine with the other's token":    {mine, foreign, callback, "Invalid or missing agent token received."},
		"mine with the mask":             {mine, masked, callback, "Invalid or missing agent token received."},
		"mine without a token":           {mine, "", callback, "Agent token is required for heartbeat processing."},
		"mine from a plain address":      {mine, token, "http://127.0.0.1:1/agent", "TLS is required of agents"},
		"mine from nowhere":              {mine, token, "https:///agent", "callback_url"},
	} {
		a := c.n.heartbeat(t, c.token, c.callback)
		require.Equal(t, http.StatusBadRequest, a.Status, name)
		require.Contains(t, a.Words(), c.words, name)
	}
	require.Equal(t, before, other.written(), "a call for the wrong node leaves no trace")
	require.Equal(t, "wait call-back", other.now().State)
	other.cancel(ids[other]) // before its own time is over
	require.NotContains(t, mine.now().Internal, "agent_url")
	a, err := s.ask(http.MethodPost, "/v1/heartbeat/5b7d4d6b-8c5b-4f5e-9d0a-2f7e5a1f3c99", map[string]any{"callback_url": callback, "agent_token": token, "agent_version": "1"})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, a.Status)

	// The agent sends its heartbeat twice; then it does not answer commands.
	require.Equal(t, http.StatusAccepted, mine.heartbeat(t, token, callback).Status)
	require.Equal(t, http.StatusAccepted, mine.heartbeat(t, token, callback).Status)
	a = mine.heartbeat(t, token, "https://127.0.0.1:2/agent")
	require.Equal(t, http.StatusBadRequest, a.Status)
	require.Contains(t, a.Words(), `Detected change in ramdisk provided "callback_url"`)
	_, again = mine.introduction(t, macs)
	require.Equal(t, masked, again, "after the first heartbeat nobody is told")
	other.leftByDeploy(other.cancelled(ids[other], "deploy failed"))
	mine.deployFailed(ids[mine], "on the agent")
	a = mine.heartbeat(t, token, callback)
	require.Equal(t, http.StatusBadRequest, a.Status, "the token ended with the boot")
}
