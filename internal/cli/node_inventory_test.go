package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheInventoryTellsWhatDiffers(t *testing.T) {
	answer := `{"node_uuid": "u", "collected_at": "2026-11-23T02:00:00Z", "facts": [{"name": "BIOS", "value": "2.1"}, {"name": "memory modules", "value": "15 × 32 GiB"}],
		"disks": [{"name": "/dev/sda", "size": 480103981056, "model": "PM883", "serial": "S1", "wwn": "0x5002538e", "rotational": false}],
		"changed_since": "2026-11-22T02:00:00Z", "more_changes": 0,
		"changes": [{"kind": "memory", "name": "A2", "before": "32 GiB", "after": null, "text": "memory A2 gone (32 GiB)"}],
		"siblings": {"resource_class": "gold", "compared": 9, "differences": [{"name": "memory modules", "value": "15 × 32 GiB", "usual": "16 × 32 GiB", "nodes": 8, "of": 9}]}}`
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/temper/v1/nodes/n1/inventory" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(answer))
	})
	got := ask(t, api, "", "node", "inventory", "n1")
	require.NoError(t, got.failed)
	require.Regexp(t, `memory modules +15 × 32 GiB +16 × 32 GiB \(8 of 9\)`, got.out)
	require.Regexp(t, `DISK +SIZE +MODEL +SERIAL +WWN\n/dev/sda +480 GB +PM883 +S1 +0x5002538e\n`, got.out, "what is named in the root device hints")
	require.Contains(t, got.out, "1 fact differs from most of the 9 other inspected nodes of the resource class gold.\n1 part has changed since the inspection of ")
	require.Contains(t, got.out, "\n  memory A2 gone (32 GiB)\n")

	answer = strings.NewReplacer(`"2026-11-22T02:00:00Z"`, "null", `"gold"`, "null").Replace(answer)
	got = ask(t, api, "", "node", "inventory", "n1")
	require.Contains(t, got.out, "It has no resource class, so it is compared with no other node.\nThere was no inspection before")
}
