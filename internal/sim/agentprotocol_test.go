package sim_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// document returns a JSON document of the real agent, which package agent keeps.
func document(t *testing.T, name string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "agent", "testdata", name))
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(b, &out))
	return out
}

// names returns the names of an object's fields, except those left out.
func names(o any, without ...string) []string {
	m, _ := o.(map[string]any)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return slices.Contains(without, k) })
}

func first(o any, list string) any { return o.(map[string]any)[list].([]any)[0] }

func TestTheSimulatedAgentSendsTheFieldsOfTheRealOne(t *testing.T) {
	t.Parallel()
	image := []byte("an image")
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	r := s.boot(i)

	require.Equal(t, names(document(t, "heartbeat.json")), names(i.beats[0]))
	// lldp_raw and pci_devices come from collectors that are not on by default.
	require.Equal(t, names(document(t, "inspection.json"), "lldp_raw", "pci_devices"), names(i.inventories[0]))
	want, got := document(t, "inventory.json"), i.inventories[0]["inventory"].(map[string]any)
	require.Equal(t, names(want), names(got))
	for _, part := range []string{"cpu", "memory", "boot", "system_vendor"} {
		require.Equal(t, names(want[part]), names(got[part]), part)
	}
	require.Equal(t, names(first(want, "interfaces"), "lldp"), names(first(got, "interfaces")))
	require.Equal(t, names(first(want, "disks")), names(first(got, "disks")))

	for _, family := range []string{"deploy", "clean"} {
		list := family + "_steps"
		doc := document(t, "result_"+list+".json")
		_, steps := r.run(family+".get_"+list, `{"node":{},"ports":[]}`, "true")
		require.Equal(t, names(doc["command_result"]), names(steps["command_result"]), list)
		manager := func(o map[string]any) any { return o["command_result"].(map[string]any)[list] }
		require.Contains(t, names(manager(doc)), names(manager(steps))[0])
	}

	written := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"x","urls":["%s/disk.raw"],"checksum":"%x"}}`, srv.URL, sha256.Sum256(image)))
	doc := document(t, "result_write_image.json")
	require.Equal(t, names(doc), names(written, "command_params"))
	require.Equal(t, names(doc["command_result"]), names(written["command_result"]))
	failed := r.step("deploy", "write_image", fmt.Sprintf(`{"image_info":{"id":"y","urls":["%s/disk.raw"],"os_hash_algo":"sha256","os_hash_value":"7d63"}}`, srv.URL))
	doc = document(t, "result_failed.json")
	require.Equal(t, names(doc["command_error"]), names(failed["command_error"]))
	for _, same := range []string{"type", "code", "message"} {
		require.Equal(t, doc["command_error"].(map[string]any)[same], failed["command_error"].(map[string]any)[same])
	}
	_, mismatch := r.run("clean.execute_clean_step",
		`{"step":{"step":"erase_pstore","interface":"deploy"},"node":{},"ports":[],"clean_version":{"generic_hardware_manager":"1.1"}}`, "true")
	require.Equal(t, document(t, "result_version_mismatch.json")["command_error"], mismatch["command_error"])
	status, _, err := r.request(http.MethodGet, "/v1/status", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

func TestTempersClientAndTheSimulatedAgentUnderstandEachOther(t *testing.T) {
	t.Parallel()
	image := []byte("an image")
	srv := files(t, image)
	i := newIronic(t)
	s := start(t, quick(sim.Config{Servers: 1, APIURL: i.URL}))
	s.boot(i)
	i.mu.Lock()
	b, err := json.Marshal(i.beats[len(i.beats)-1])
	i.mu.Unlock()
	require.NoError(t, err)
	var beat agent.Heartbeat
	require.NoError(t, json.Unmarshal(b, &beat))
	policy := agent.CallbackPolicy{AllowLoopback: true}
	require.NoError(t, policy.CheckHeartbeat(beat, agent.KnownAgent{Token: token}))

	ctx := context.Background()
	c, err := agent.NewClient(agent.Target{Node: nodeUUID, URL: beat.CallbackURL, Token: token, VerifyCA: beat.AgentVerifyCA},
		agent.Settings{Callback: policy})
	require.NoError(t, err)
	defer c.Close()
	about := agent.ListSteps{Node: map[string]any{"uuid": nodeUUID}, Ports: []map[string]any{}}
	lists, err := c.ListSteps(ctx, agent.DeployFamily, about)
	require.NoError(t, err)
	require.NotEmpty(t, lists.DeploySteps["GenericHardwareManager"])

	before, err := c.Commands(ctx)
	require.NoError(t, err)
	order := agent.Order{Command: agent.ExecuteDeployStep, Interface: "deploy", Step: "write_image"}
	issued := agent.Issue(order, before)
	_, err = c.Start(ctx, agent.ExecuteDeployStep, agent.RunStep{
		Step: agent.Step{Step: "write_image", Interface: "deploy", Args: map[string]any{"image_info": agent.ImageInfo{
			ID: "x", URLs: []string{srv.URL + "/disk.raw"}, HashAlgo: "sha256", HashValue: fmt.Sprintf("%x", sha256.Sum256(image)),
		}}},
		Node: about.Node, Ports: about.Ports, DeployVersion: lists.Versions,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		list, err := c.Commands(ctx)
		require.NoError(t, err)
		d := agent.Next(order, &issued, list)
		require.Contains(t, []agent.Action{agent.ActWait, agent.ActDone}, d.Action, "%v", d.Err)
		return d.Action == agent.ActDone
	}, soon, tick)
	uuids, err := c.GetPartitionUUIDs(ctx)
	require.NoError(t, err)
	require.Empty(t, uuids.RootUUID, "the image is too short for a master boot record")
	info, err := c.Call(ctx, "poll.get_hardware_info", nil)
	require.NoError(t, err)
	var inventory agent.Inventory
	require.NoError(t, info.Decode(&inventory))
	require.Equal(t, s.server("sim-0001").MACs, inventory.MACs())
	_, err = c.Call(ctx, "standby.sync", nil)
	require.NoError(t, err)

	s.bmc("sim-0001").reset("ForceOff")
	_, err = c.Commands(ctx)
	require.True(t, fault.Is(err, fault.Unreachable), "%v", err)
}
