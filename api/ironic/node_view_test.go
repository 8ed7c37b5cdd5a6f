package ironic_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/node"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenUUID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"

// TestANodeAsEachVersionShowsIt compares whole answers: a node that waits for
// its agent in the middle of a deploy, as the oldest and the newest version
// show it and two in between. -update writes the files; then review the difference.
func TestANodeAsEachVersionShowsIt(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) {
		c.WorkflowURL = func(o *node.Operation) string { return "http://temporal-ui/" + o.NodeUUID }
	})
	b.Conductor("c1", "", "redfish")
	b.Post("/v1/nodes", map[string]any{
		"uuid": goldenUUID, "driver": "redfish", "name": "rack1-u7", "resource_class": "gold", "owner": "alice", "description": "Rack 1",
		"driver_info":   map[string]any{"redfish_address": "https://10.1.0.7", "redfish_password": "hunter2", "deploy_iso": "http://images/ipa.iso"},
		"instance_info": map[string]any{"image_source": "http://images/a.raw", "image_checksum": "ab", "configdrive": "aGVsbG8="},
		"properties":    map[string]any{"cpus": 8, "cpu_arch": "x86_64"}, "extra": map[string]any{"rack": 1}, "shard": "s1",
	}).Is(201)
	b.Put("/v1/nodes/rack1-u7/traits", map[string]any{"traits": []string{"CUSTOM_GOLD"}}).Is(204)
	b.MoveTo(goldenUUID, node.DeployWait)
	b.SQL(`UPDATE nodes SET created_at = '2026-01-02 03:04:05Z', updated_at = '2026-01-02 03:04:06.5Z', provision_updated_at = '2026-01-03Z',
		power_state = 'power on', power_read_at = '2026-01-03Z', boot_mode = 'uefi', instance_uuid = '8e9d3f6a-0f3c-4a57-9f6d-2f9b6a4c1c11'`)
	b.SQL(`UPDATE operations SET waiting_for = 'agent', waiting_until = '2026-01-03 00:30Z'`)
	b.SQL(`INSERT INTO agents (node_id, url, version, first_heartbeat_at, last_heartbeat_at)
		SELECT id, 'https://10.0.0.9:9999', '11.5.0', '2026-01-03Z', '2026-01-03 00:01Z' FROM nodes
		ON CONFLICT (node_id) DO UPDATE SET url = excluded.url, version = excluded.version, first_heartbeat_at = excluded.first_heartbeat_at, last_heartbeat_at = excluded.last_heartbeat_at`)
	for _, minor := range []int{1, 38, 81, 95, 111} {
		file := filepath.Join("testdata", fmt.Sprintf("node-1.%d.json", minor))
		body := b.At(minor, "GET", "/v1/nodes/"+goldenUUID, nil).Body
		if *update {
			var shown any
			require.NoError(t, json.Unmarshal(body, &shown))
			sorted, err := json.MarshalIndent(shown, "", "  ")
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, append(sorted, '\n'), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(body), file)
		// A list makes the same of what it has not decoded.
		var list struct{ Nodes []json.RawMessage }
		if at := b.At(minor, "GET", "/v1/nodes/detail", nil); at.Status == 200 {
			require.NoError(t, json.Unmarshal(at.Body, &list))
			require.Len(t, list.Nodes, 1)
			require.JSONEq(t, string(want), string(list.Nodes[0]), file)
		}
	}
}

// Every field of a node is shown from its version on, and not before.
func TestFieldsAppearWithTheirVersion(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	uuid := b.Get("/v1/nodes/n1").Is(200)["uuid"].(string)
	since := map[string]int{
		"driver_internal_info": 3, "name": 5, "inspection_started_at": 6, "inspection_finished_at": 6, "clean_step": 7, "raid_config": 12,
		"target_raid_config": 12, "states": 14, "network_interface": 20, "resource_class": 21, "portgroups": 24,
		"boot_interface": 31, "console_interface": 31, "deploy_interface": 31, "inspect_interface": 31, "management_interface": 31,
		"power_interface": 31, "raid_interface": 31, "vendor_interface": 31, "volume": 32, "storage_interface": 33, "traits": 37,
		"rescue_interface": 38, "bios_interface": 40, "fault": 42, "deploy_step": 44, "conductor_group": 46, "automated_clean": 47,
		"protected": 48, "protected_reason": 48, "conductor": 49, "owner": 50, "description": 51, "allocation_uuid": 52,
		"retired": 61, "retired_reason": 61, "lessee": 65, "network_data": 66, "boot_mode": 75, "secure_boot": 75, "shard": 82,
		"parent_node": 83, "firmware_interface": 86, "service_step": 87, "disable_power_off": 95, "instance_name": 104, "health": 109,
	}
	for minor := 1; minor <= apitest.Newest; minor++ {
		body := b.At(minor, "GET", "/v1/nodes/"+uuid, nil).Is(200)
		for field, first := range since {
			_, shown := body[field]
			require.Equal(t, minor >= first, shown, "%s at 1.%d", field, minor)
		}
		require.Len(t, body, 22+countTo(since, minor), "1.%d shows something that is in no version", minor)
	}
}

func countTo(since map[string]int, minor int) (n int) {
	for _, first := range since {
		if first <= minor {
			n++
		}
	}
	return n
}
