package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goldenUUID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"

// TestANodeAsEachVersionShowsIt compares whole answers: a node that waits for
// its agent in the middle of a deploy, as the oldest and the newest version
// show it and two in between. -update writes the files; read the difference.
func TestANodeAsEachVersionShowsIt(t *testing.T) {
	b := newBench(t, func(c *config) {
		c.WorkflowURL = func(o *node.Operation) string { return "http://temporal-ui/" + o.NodeUUID }
	})
	b.conductor("c1", "", "redfish")
	b.post("/v1/nodes", map[string]any{
		"uuid": goldenUUID, "driver": "redfish", "name": "rack1-u7", "resource_class": "gold", "owner": "alice", "description": "Rack 1",
		"driver_info":   map[string]any{"redfish_address": "https://10.1.0.7", "redfish_password": "hunter2", "deploy_iso": "http://images/ipa.iso"},
		"instance_info": map[string]any{"image_source": "http://images/a.raw", "image_checksum": "ab", "configdrive": "aGVsbG8="},
		"properties":    map[string]any{"cpus": 8, "cpu_arch": "x86_64"}, "extra": map[string]any{"rack": 1}, "shard": "s1",
	}).is(201)
	b.put("/v1/nodes/rack1-u7/traits", map[string]any{"traits": []string{"CUSTOM_GOLD"}}).is(204)
	b.moveTo(goldenUUID, node.DeployWait)
	b.sql(`UPDATE nodes SET created_at = '2026-01-02 03:04:05Z', updated_at = '2026-01-02 03:04:06.5Z', provision_updated_at = '2026-01-03Z',
		power_state = 'power on', power_read_at = '2026-01-03Z', boot_mode = 'uefi', instance_uuid = '8e9d3f6a-0f3c-4a57-9f6d-2f9b6a4c1c11'`)
	b.sql(`UPDATE operations SET waiting_for = 'agent', waiting_until = '2026-01-03 00:30Z'`)
	b.sql(`INSERT INTO agents (node_id, url, version, first_heartbeat_at, last_heartbeat_at)
		SELECT id, 'https://10.0.0.9:9999', '11.5.0', '2026-01-03Z', '2026-01-03 00:01Z' FROM nodes`)
	for _, minor := range []int{1, 38, 81, 95} {
		file := filepath.Join("testdata", fmt.Sprintf("node-1.%d.json", minor))
		var have bytes.Buffer
		require.NoError(t, json.Indent(&have, b.at(minor, "GET", "/v1/nodes/"+goldenUUID, nil).raw, "", "  "))
		have.WriteByte('\n')
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, have.Bytes(), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), have.String(), file)
	}
}
