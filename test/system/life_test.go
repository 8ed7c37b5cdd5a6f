package system_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLifeOfANode(t *testing.T) {
	t.Parallel()
	s := world(t)
	l := newLibrary(t, nil)
	n := enroll(t, s, s.rack)
	require.Equal(t, "enroll", n.now().State)
	require.Equal(t, "******", n.now().DriverInfo["redfish_password"])

	n.done(n.provision("manage", nil), "manageable")
	require.Equal(t, "power off", text(n.now().Power))
	require.Empty(t, n.hardware().Actions, "verifying reads")

	now := n.done(n.provision("provide", nil), "available")
	require.Equal(t, "power off", text(now.Power))
	require.NoError(t, n.hardware().clean())
	require.Equal(t, []string{"erase_devices_metadata", "erase_devices"}, n.hardware().steps(), "automated cleaning, in the order of the agent's priorities")

	n.image(l.url+"/good.raw", l.sha256)
	n.patch("instance_uuid", "5b7d4d6b-8c5b-4f5e-9d0a-2f7e5a1f3c11")
	n.deployed(n.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "one"}, "user_data": "#!/bin/sh\n"}}), l.sha256)
	first := n.hardware()
	require.NotEmpty(t, first.ConfigDriveSHA256)
	require.Equal(t, "******", n.now().InstanceInfo["configdrive"])
	require.Equal(t, 1, l.got("/good.raw"))

	n.deployed(n.provision("rebuild", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "two"}}}), l.sha256)
	require.Equal(t, 2, l.got("/good.raw"), "a rebuild writes the image again")
	require.NotEqual(t, first.ConfigDriveSHA256, n.hardware().ConfigDriveSHA256)
	require.Equal(t, "5b7d4d6b-8c5b-4f5e-9d0a-2f7e5a1f3c11", text(n.now().InstanceUUID))

	now = n.done(n.provision("deleted", nil), "available")
	require.Equal(t, "power off", text(now.Power))
	require.Empty(t, now.InstanceInfo)
	require.Nil(t, now.InstanceUUID)
	sv := n.hardware()
	require.NoError(t, sv.clean())
	require.Empty(t, sv.DiskSHA256, "cleaning erased the disk")

	require.Equal(t, []string{
		"On Off->On", "ForceOff On->Off", // cleaning
		"On Off->On", "agent On->Off", "On Off->On", // deploy
		"ForceOff On->Off", "On Off->On", "agent On->Off", "On Off->On", // rebuild
		"ForceOff On->Off", "On Off->On", "ForceOff On->Off", // back, and cleaned
	}, effects(sv.Actions))
	require.Len(t, sv.Actions, 12, "nothing was asked for twice")
	require.Zero(t, sv.BadLogins)
}

func TestInspectionOutOfBandReadsTheBMC(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	for _, p := range n.ports() {
		s.must(t, http.StatusNoContent, http.MethodDelete, "/v1/ports/"+p.UUID, nil)
	}
	n.done(n.provision("inspect", nil), "manageable")
	n.inspected()
	require.Empty(t, n.hardware().Actions, "reading needs no power")
}

func TestInspectionInBandAsksTheAgent(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	n.patch("inspect_interface", "agent")
	n.done(n.provision("inspect", nil), "manageable")
	n.inspected()
	sv := n.hardware()
	require.NoError(t, sv.clean())
	require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(sv.Actions))
	require.Equal(t, 1, sv.AgentBoots)
	var inventory struct {
		Inventory struct {
			CPU struct {
				Count int `json:"count"`
			} `json:"cpu"`
		} `json:"inventory"`
	}
	require.NoError(t, s.read("/v1/nodes/"+n.uuid+"/inventory", &inventory))
	require.Positive(t, inventory.Inventory.CPU.Count)
}

// inspected compares what an inspection wrote with the server.
func (n *node) inspected() {
	n.t.Helper()
	p := n.now().Properties
	for _, key := range []string{"cpus", "memory_mb", "local_gb"} {
		v, err := strconv.Atoi(p[key].(string))
		require.NoError(n.t, err, "%s is %v", key, p[key])
		require.Positive(n.t, v, key)
	}
	require.Equal(n.t, "x86_64", p["cpu_arch"])
	var macs []string
	for _, p := range n.ports() {
		macs = append(macs, p.Address)
	}
	require.ElementsMatch(n.t, n.hardware().MACs, macs, "every network interface is a port")
}

type port struct {
	UUID    string `json:"uuid"`
	Address string `json:"address"`
}

func (n *node) ports() []port {
	n.t.Helper()
	var page struct {
		Ports []port `json:"ports"`
	}
	require.NoError(n.t, n.s.read("/v1/ports?node="+n.uuid, &page))
	return page.Ports
}

func TestCleaningByHandRunsWhatWasAskedInThatOrder(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	id := n.provision("clean", map[string]any{"clean_steps": []any{
		map[string]any{"interface": "deploy", "step": "erase_pstore"},
		map[string]any{"interface": "deploy", "step": "erase_devices_metadata"},
	}})
	require.Equal(t, "manageable", text(n.now().Target))
	now := n.done(id, "manageable")
	require.Equal(t, "power off", text(now.Power))
	sv := n.hardware()
	require.Equal(t, []string{"erase_pstore", "erase_devices_metadata"}, sv.steps())
	require.Equal(t, []string{"On Off->On", "ForceOff On->Off"}, effects(sv.Actions))
	require.NoError(t, sv.clean())
}

func TestACleanStepThatNobodyHasEndsWithoutHarm(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	id := n.provision("clean", map[string]any{"clean_steps": []any{map[string]any{"interface": "deploy", "step": "juggle"}}})
	now := n.failed(id, "clean failed", "does not support this clean step: deploy.juggle")
	require.False(t, now.Maintenance, "no step was at work")
	require.Empty(t, n.hardware().steps())
	n.provisioned("manage", "manageable")
}

// provisioned requests a state that needs no operation.
func (n *node) provisioned(verb, state string) {
	n.t.Helper()
	a := n.ask(verb, nil)
	require.Equal(n.t, http.StatusAccepted, a.Status, a.Words())
	require.Equal(n.t, state, n.now().State)
}

func TestPowerIsAsItWasAskedFor(t *testing.T) {
	t.Parallel()
	s := world(t)
	n := manageable(t, s, s.rack)
	for _, c := range []struct {
		target string
		power  string
		sent   []string
	}{
		{"power on", "power on", []string{"On Off->On"}},
		{"power on", "power on", nil},
		{"rebooting", "power on", []string{"ForceOff On->Off", "On Off->On"}},
		{"soft rebooting", "power on", []string{"GracefulShutdown On->Off", "On Off->On"}},
		{"soft power off", "power off", []string{"GracefulShutdown On->Off"}},
		{"rebooting", "power on", []string{"On Off->On"}},
		{"power off", "power off", []string{"ForceOff On->Off"}},
		{"power off", "power off", nil},
	} {
		before := len(n.hardware().Actions)
		id := n.power(c.target)
		now := n.done(id, "manageable")
		require.Equal(t, c.power, text(now.Power), c.target)
		require.Equal(t, append([]string{}, c.sent...), effects(n.hardware().Actions[before:]), c.target)
		require.Len(t, n.hardware().Actions, before+len(c.sent), "%s: what is so already is not sent", c.target)
	}
}
