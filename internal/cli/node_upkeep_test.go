package cli

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasReadOfTheFirmwareIsListedWithItsAge(t *testing.T) {
	answers := map[string]string{
		"/v1/nodes/n1/bios": `{"bios": [
			{"name": "ProcTurboMode", "value": "Enabled", "attribute_type": "Enumeration", "allowable_values": ["Enabled", "Disabled"], "read_only": false, "created_at": "2026-11-20T00:00:00Z", "updated_at": "2026-11-23T00:00:00Z"},
			{"name": "BootRetries", "value": "3", "attribute_type": "Integer", "lower_bound": 0, "upper_bound": 10, "created_at": "2026-11-20T00:00:00Z"},
			{"name": "AssetTag", "value": "", "attribute_type": "String", "min_length": null, "max_length": 63, "created_at": "2026-11-20T00:00:00Z"},
			{"name": "SystemModelName", "value": "X", "allowable_values": null, "read_only": true, "created_at": "2026-11-20T00:00:00Z", "updated_at": null}]}`,
		"/v1/nodes/n1/firmware": `{"firmware": [{"component": "bios", "initial_version": "1.0", "current_version": "2.0", "last_version_flashed": "2.0", "created_at": "2026-11-20T00:00:00Z", "updated_at": null}]}`,
		"/v1/nodes/n2/bios":     `{"bios": []}`,
	}
	api := serving(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(answers[r.URL.Path])) })
	got := ask(t, api, "", "node", "bios", "n1")
	require.NoError(t, got.failed)
	require.Regexp(t, `ProcTurboMode +Enabled +Enabled, Disabled +\S+\nBootRetries +3 +0 to 10 +\S+\nAssetTag +- +at most 63 characters +\S+\nSystemModelName +X +read only +\S+\n`, got.out)
	got = ask(t, api, "", "node", "firmware", "n1")
	require.NoError(t, got.failed)
	require.Regexp(t, `COMPONENT +VERSION +FIRST +INSTALLED BY TEMPER +READ\nbios +2.0 +1.0 +2.0 +\S+\n`, got.out)
	got = ask(t, api, "", "node", "bios", "n2")
	require.Equal(t, "Nothing was read of the BIOS settings of node n2 yet, or its BMC shows none.\n", got.out)
}
