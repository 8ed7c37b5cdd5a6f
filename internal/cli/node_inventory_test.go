package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
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

// An inspection is suggested only where the validation of the node says that it is possible.
func TestOnlyAnInspectionThatIsPossibleIsSuggested(t *testing.T) {
	for name, c := range map[string]struct {
		inspect, says string
		suggested     bool
	}{
		"it is possible":         {`{"result": true, "reason": ""}`, "finds out what hardware it has", true},
		"the driver has none":    {`{"result": false, "reason": "no-inspect does nothing", "code": "not_supported"}`, "its driver can't inspect it with these interfaces: no-inspect does nothing", false},
		"the interface has none": {`{"result": null, "reason": null}`, "its driver can't inspect it with these interfaces: it has no inspection", false},
		"something is missing":   {`{"result": false, "reason": "redfish_address is missing", "code": "validation_failed"}`, "as it is: redfish_address is missing", false},
	} {
		t.Run(name, func(t *testing.T) {
			api := serving(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/nodes/n1/validate" {
					_, _ = w.Write([]byte(`{"inspect": ` + c.inspect + `}`))
					return
				}
				w.WriteHeader(http.StatusNotFound)
				_, _ = w.Write(faultOf("Node n1 has no inventory.", fault.ResourceNotFound))
			})
			got := ask(t, api, "", "node", "inventory", "n1")
			require.ErrorContains(t, got.failed, "node n1 was never inspected")
			require.ErrorContains(t, got.failed, c.says)
			require.Equal(t, c.suggested, strings.Contains(got.failed.Error(), "temper node inspect"))
		})
	}
}
