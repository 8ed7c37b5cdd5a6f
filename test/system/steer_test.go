package system_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
)

// waitingForItsAgent returns a node whose deploy waits for an agent that does not come.
func waitingForItsAgent(t *testing.T, s *stack) (n *node, operation string) {
	t.Helper()
	n = available(t, s, s.rack)
	n.patch("automated_clean", true)
	n.spoil(fault{Kind: "no_agent"})
	operation = n.provision("active", nil)
	n.await("wait call-back")
	return n, operation
}

func cleanSteps(names ...string) map[string]any {
	steps := []any{}
	for _, name := range names {
		steps = append(steps, map[string]any{"interface": "deploy", "step": name})
	}
	return map[string]any{"clean_steps": steps}
}

func TestAbortEndsADeployThatWaitsForItsAgent(t *testing.T) {
	t.Parallel()
	s := world(t)
	n, id := waitingForItsAgent(t, s)
	a, err := request(http.MethodPut, s.APIURL+"/v1/nodes/"+n.uuid+"/states/provision", map[string]any{"target": "abort"},
		http.Header{"X-OpenStack-Ironic-API-Version": {"1.94"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusNotAcceptable, a.Status, "older versions can't")

	n.spoil(fault{Kind: "no_agent"}, fault{Kind: "slow_power", Delay: "1s"})
	require.Equal(t, id, n.provision("abort", nil), "it steers the operation that is open")
	now := n.now()
	require.Equal(t, "deploy failed", now.State, "at once")
	require.Nil(t, now.Reservation)
	require.Contains(t, text(now.LastError), "By request")
	require.Contains(t, n.refused(http.StatusConflict, "active", nil), "Node "+n.uuid+" is locked by host ", "the clean-up is not over")

	n.leftByDeploy(n.cancelled(id, "deploy failed"))
	require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(n.hardware().Actions))
	n.spoil()
	n.deployed(n.provision("active", nil), digest(t, s.rack))
}

func TestAbortLetsAStepFinishThatIsNotAbortable(t *testing.T) {
	t.Parallel()
	s := world(t)

	t.Run("writing an image", func(t *testing.T) {
		t.Parallel()
		gate := make(chan struct{})
		l := newLibrary(t, gate)
		n := available(t, s, s.rack)
		n.image(l.url+"/slow.raw", l.sha256)
		id := n.provision("active", nil)
		n.writing(l)
		require.Equal(t, id, n.provision("abort", nil))
		require.Equal(t, "wait call-back", n.now().State)
		require.Equal(t, "abort", n.asked(id))
		close(gate)
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
		sv := n.hardware()
		require.Equal(t, l.sha256, sv.DiskSHA256, "the image was written to its end")
		require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(sv.Actions), "and not booted")
	})

	t.Run("a reboot in cleaning", func(t *testing.T) {
		t.Parallel()
		v := &valve{path: "/v1/lookup"}
		n := manageable(t, s, ownRack(t, newProxy(t, s.APIURL, v.between), sim.Config{Servers: 1}))
		v.shutAfter(1) // the agent of the first boot
		id := n.provision("clean", cleanSteps("erase_pstore", "reboot", "erase_devices_metadata"))
		n.waiting(id, "reboot")
		require.Equal(t, id, n.provision("abort", nil))
		eventually(t, patience, func() error {
			if v.turnedAway() < 3 {
				return errors.New("the agent does not try again")
			}
			return nil
		})
		require.Equal(t, "clean wait", n.now().State, "the agent has not come back yet")
		v.open()
		now := n.cancelled(id, "clean failed")
		require.False(t, now.Maintenance)
		sv := n.hardware()
		require.NoError(t, sv.clean())
		require.Equal(t, []string{"erase_pstore"}, sv.steps())
		require.Equal(t, 2, sv.AgentBoots)
		require.Positive(t, sv.Heartbeats)
	})
}

// writing waits until the agent writes an image that comes slowly.
func (n *node) writing(l *library) {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		now, err := n.get()
		if err == nil && (l.got("/slow.raw") == 0 || now.State != "wait call-back" || now.DeployStep["step"] != "write_image") {
			err = fmt.Errorf("no image is written: %s, %v", now.State, now.DeployStep)
		}
		return err
	})
}

// waiting waits until a step of an operation is in the state waiting.
func (n *node) waiting(id, name string) {
	n.t.Helper()
	catches(n.t, patience, func() error {
		o, err := n.operation(id)
		if err != nil {
			return err
		}
		if st, ok := o.step(name); !ok || st.State != "waiting" {
			return fmt.Errorf("step %s does not wait: %s", name, o)
		}
		return nil
	})
}

// asked returns what was asked of an operation.
func (n *node) asked(id string) string {
	n.t.Helper()
	o, err := n.operation(id)
	require.NoError(n.t, err)
	return text(o.Asked)
}

func TestAbortEndsACleanStepThatIsAbortable(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	id := n.provision("clean", cleanSteps("erase_pstore", "burnin_cpu", "erase_devices_metadata"))
	n.running(id, "burnin_cpu")
	n.await("clean wait")
	require.Equal(t, "burnin_cpu", n.now().CleanStep["step"])
	require.Equal(t, id, n.provision("abort", nil))
	require.Equal(t, "clean failed", n.now().State, "at once")
	now := n.cancelled(id, "clean failed")
	require.Contains(t, text(now.LastError), "By request")
	require.False(t, now.Maintenance, "nothing failed")
	require.Nil(t, now.Fault)
	require.Equal(t, "power off", text(now.Power))
	require.NoError(t, n.hardware().clean())
	require.Equal(t, []string{"erase_pstore", "burnin_cpu"}, n.hardware().steps())
	n.provisioned("manage", "manageable")
}

func TestANodeThatIsGivenBackWhileItWaitsForItsAgent(t *testing.T) {
	t.Parallel()
	s := world(t)

	for name, begin := range map[string]func(*testing.T) (*node, string){
		"comes": func(t *testing.T) (*node, string) { return waitingForItsAgent(t, s) },
		"writes": func(t *testing.T) (*node, string) {
			l := newLibrary(t, nil)
			n := available(t, s, s.rack)
			n.patch("automated_clean", true)
			n.image(l.url+"/slow.raw", l.sha256)
			id := n.provision("active", nil)
			n.writing(l)
			return n, id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, id := begin(t)
			n.spoil(fault{Kind: "slow_power", Delay: "500ms"})
			require.Equal(t, id, n.provision("deleted", nil))
			now := n.now()
			require.Equal(t, "deleting", now.State, "at once")
			require.Equal(t, "available", text(now.Target))
			require.NotNil(t, now.Reservation)
			require.Contains(t, n.refused(http.StatusConflict, "active", nil), "is locked by host")
			require.Equal(t, "cancelled", text(n.over(id).Outcome))

			now = n.await("available")
			require.Nil(t, now.Target)
			require.Nil(t, now.LastError)
			require.Empty(t, now.InstanceInfo)
			n.free(now)
			require.NoError(t, n.hardware().clean())
			var all struct {
				Operations []operation `json:"operations"`
			}
			require.NoError(t, s.read("/temper/v1/operations?node="+n.uuid+"&limit=1", &all))
			require.Equal(t, "undeploy", all.Operations[0].Kind)
			require.Equal(t, "succeeded", text(all.Operations[0].Outcome))
		})
	}
}

func TestPowerRequestsRunInsideADeployThatWaits(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "no_agent", Count: 1})
	id := n.provision("active", nil)
	n.await("wait call-back")
	require.Equal(t, id, n.power("power off"))
	eventually(t, patience, func() error { return n.waits("power off") })
	require.Equal(t, id, n.power("power off"), "what is so already is no error")
	eventually(t, patience, func() error { return n.waits("power off") })

	n.spoil(fault{Kind: "no_agent", Count: 1})
	require.Equal(t, id, n.power("power on"))
	eventually(t, patience, func() error { return n.waits("power on") })
	eventually(t, patience, func() error {
		sv, err := s.rack.read(n.server)
		if err == nil && sv.BootedFrom != "cd" {
			err = fmt.Errorf("it does not come up in the ramdisk: booted from %s", sv.BootedFrom)
		}
		return err
	})

	require.Equal(t, id, n.power("rebooting"), "people reboot servers whose agent does not come")
	n.deployed(id, digest(t, s.rack))
	require.Equal(t, []string{
		"On Off->On", "ForceOff On->Off", // stuck, and switched off
		"On Off->On", "ForceOff On->Off", "On Off->On", // on, and rebooted
		"agent On->Off", "On Off->On",
	}, effects(n.hardware().Actions))
}

// waits returns an error unless the node waits for its agent, with its power so and nothing asked.
func (n *node) waits(power string) error {
	now, err := n.get()
	if err != nil {
		return err
	}
	if now.State != "wait call-back" || text(now.Power) != power || now.TargetPower != nil {
		return fmt.Errorf("%s, %s, target %s", now.State, text(now.Power), text(now.TargetPower))
	}
	return nil
}

func TestPowerRequestsAreRefusedWhileANodeIsCleaned(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	n.spoil(fault{Kind: "slow_power", Delay: "2s", Count: 1})
	id := n.provision("clean", cleanSteps("burnin_cpu"))
	for _, state := range []string{"cleaning", "clean wait"} {
		n.await(state)
		if state == "clean wait" { // of the step, after that for the agent
			n.running(id, "burnin_cpu")
			n.await(state)
		}
		a := s.must(t, http.StatusBadRequest, http.MethodPut, "/v1/nodes/"+n.uuid+"/states/power", map[string]any{"target": "rebooting"})
		require.Contains(t, a.Words(), fmt.Sprintf(`The requested action "rebooting" can not be performed on node %q while it is in state %q.`, n.uuid, state))
		require.Contains(t, commands(a), "temper operation cancel "+id)
	}
	n.cancel(id)
	n.cancelled(id, "clean failed")
	require.NoError(t, n.hardware().clean())
}

func TestAHoldLastsUntilSomebodyLiftsIt(t *testing.T) {
	t.Parallel()
	s := world(t)
	hold := map[string]any{"deploy_steps": []any{map[string]any{"interface": "deploy", "step": "hold", "priority": 90, "args": map[string]any{}}}}

	t.Run("in a deploy", func(t *testing.T) {
		t.Parallel()
		n := available(t, s, s.rack)
		id := n.provision("active", hold)
		now := n.await("deploy hold")
		require.Nil(t, now.Reservation)
		require.Equal(t, "active", text(now.Target))
		require.Equal(t, "hold", now.DeployStep["step"])
		require.Contains(t, n.refused(http.StatusBadRequest, "deleted", nil), "can not be performed")
		require.Empty(t, n.hardware().steps())
		require.Equal(t, id, n.provision("unhold", nil))
		n.deployed(id, digest(t, s.rack))
		require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
	})

	t.Run("or aborts it", func(t *testing.T) {
		t.Parallel()
		n := available(t, s, s.rack)
		id := n.provision("active", hold)
		n.await("deploy hold")
		require.Equal(t, id, n.provision("abort", nil))
		require.Equal(t, "deploy failed", n.now().State, "at once")
		n.leftByDeploy(n.cancelled(id, "deploy failed"))
		require.Empty(t, n.hardware().steps())
	})

	t.Run("in a cleaning", func(t *testing.T) {
		t.Parallel()
		n := manageable(t, s, s.rack)
		id := n.provision("clean", cleanSteps("erase_pstore", "hold", "erase_devices_metadata"))
		n.await("clean hold")
		require.Equal(t, []string{"erase_pstore"}, n.hardware().steps())
		require.Equal(t, id, n.provision("unhold", nil))
		n.done(id, "manageable")
		require.Equal(t, []string{"erase_pstore", "erase_devices_metadata"}, n.hardware().steps())
	})
}

func TestANodeThatIsWorkedOnIsHeldAgainstEverybodyElse(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	n.spoil(fault{Kind: "slow_power", Delay: "3s", Count: 1})
	id := n.provision("active", nil)
	now := n.now()
	require.Equal(t, "deploying", now.State, "in the first GET after the 202")
	require.Equal(t, "active", text(now.Target))
	require.NotNil(t, now.Reservation)
	n.running(id, "deploy")
	holder := text(n.now().Reservation)
	require.Contains(t, []string{"conductor-1", "conductor-2"}, holder, "the conductor at work")
	path := "/v1/nodes/" + n.uuid
	locked := fmt.Sprintf("Node %s is locked by host %s, please retry after the current operation is completed.", n.uuid, holder)

	for _, verb := range []string{"active", "deleted", "manage", "abort"} {
		require.Equal(t, locked, n.refused(http.StatusConflict, verb, nil), verb)
	}
	require.Equal(t, locked, s.must(t, http.StatusConflict, http.MethodPut, path+"/states/power", map[string]any{"target": "power off"}).Words())
	require.Equal(t, locked, s.must(t, http.StatusConflict, http.MethodDelete, path, nil).Words())
	for field, value := range map[string]any{
		"driver_info": map[string]any{}, "instance_info": map[string]any{}, "properties": map[string]any{}, "resource_class": "gold",
		"conductor_group": "far", "instance_uuid": "5b7d4d6b-8c5b-4f5e-9d0a-2f7e5a1f3c12", "inspect_interface": "agent", "driver": "fake-hardware",
	} {
		words := s.must(t, http.StatusConflict, http.MethodPatch, path, set(field, value)).Words()
		require.Equal(t, fmt.Sprintf("Node %s can not be updated while a state transition is in progress.", n.uuid), words, field)
	}
	n.patch("description", "being deployed")
	n.patch("extra", map[string]any{"rack": "7"})
	s.must(t, http.StatusAccepted, http.MethodPut, path+"/maintenance", map[string]any{"reason": "because"})
	require.True(t, n.now().Maintenance)
	s.must(t, http.StatusAccepted, http.MethodDelete, path+"/maintenance", nil)
	require.Equal(t, "deploying", n.now().State, "all of it while the server was switched on")

	now = n.deployed(id, digest(t, s.rack))
	require.Equal(t, "being deployed", text(now.Description))
	require.Equal(t, map[string]any{"rack": "7"}, now.Extra)
	require.False(t, now.Maintenance)
	require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
}

func TestOfManyRequestsAtOnceOneIsAccepted(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := available(t, s, s.rack)
	const many = 12
	answers := make([]answer, many)
	errs := make([]error, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			answers[i], errs[i] = s.ask(http.MethodPut, "/v1/nodes/"+n.uuid+"/states/provision", map[string]any{"target": "active"})
		})
	}
	wg.Wait()
	id := ""
	for i, a := range answers {
		require.NoError(t, errs[i])
		if a.Status == http.StatusAccepted {
			require.Empty(t, id, "two were accepted")
			id = n.accepted(a)
			continue
		}
		require.Equal(t, http.StatusConflict, a.Status, a.Words())
		require.Contains(t, a.Words(), "Node "+n.uuid+" is locked by host ")
	}
	n.deployed(id, digest(t, s.rack))
	require.Equal(t, effects(undisturbed(t, s)), effects(n.hardware().Actions))
}
