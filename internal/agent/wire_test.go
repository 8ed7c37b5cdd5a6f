package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return b
}

func decode[T any](t testing.TB, name string) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(fixture(t, name), &v), name)
	return v
}

// roundTrip decodes a document and encodes it again.
func roundTrip[T any](b []byte) ([]byte, error) {
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// params round-trips a command and its parameters.
func params[T any](b []byte) ([]byte, error) {
	var c agent.Command
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, err
	}
	inner, err := roundTrip[T](c.Params)
	if err != nil {
		return nil, err
	}
	c.Params = inner
	return json.Marshal(c)
}

// result round-trips an entry of the list and its result.
func result[T any](b []byte) ([]byte, error) {
	var r agent.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	inner, err := roundTrip[T](r.Result)
	if err != nil {
		return nil, err
	}
	r.Result = inner
	return json.Marshal(r)
}

// stepResult is the result of execute_*_step. Only the fields of the step's family are set.
type stepResult struct {
	DeployResult  json.RawMessage `json:"deploy_result,omitempty"`
	DeployStep    *agent.Step     `json:"deploy_step,omitempty"`
	CleanResult   json.RawMessage `json:"clean_result,omitempty"`
	CleanStep     *agent.Step     `json:"clean_step,omitempty"`
	ServiceResult json.RawMessage `json:"service_result,omitempty"`
	ServiceStep   *agent.Step     `json:"service_step,omitempty"`
}

// writeImageArgs are the args of the deploy step write_image.
type writeImageArgs struct {
	ImageInfo agent.ImageInfo `json:"image_info"`
	// ConfigDrive is a base64 gzipped image, or a URL; null for none.
	ConfigDrive agent.Text `json:"configdrive"`
}

// writeImage round-trips execute_*_step with write_image's args inside.
func writeImage(b []byte) ([]byte, error) {
	var c agent.Command
	var run agent.RunStep
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(c.Params, &run); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(run.Step.Args)
	if err != nil {
		return nil, err
	}
	if raw, err = roundTrip[writeImageArgs](raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &run.Step.Args); err != nil {
		return nil, err
	}
	if c.Params, err = json.Marshal(run); err != nil {
		return nil, err
	}
	return json.Marshal(c)
}

// nothing reports whether a JSON value says no more than a missing key.
func nothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, inner := range v {
			if !nothing(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// same compares documents: whatever says something in one must be in the other.
func same(t *testing.T, path string, want, got any) {
	t.Helper()
	if nothing(want) && nothing(got) {
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		require.True(t, ok, "%s is no object: %v", path, got)
		for k := range w {
			same(t, path+"."+k, w[k], g[k])
		}
		for k := range g {
			if _, known := w[k]; !known {
				require.True(t, nothing(g[k]), "%s.%s = %v is not in the document", path, k, g[k])
			}
		}
	case []any:
		g, ok := got.([]any)
		require.True(t, ok, "%s is no list: %v", path, got)
		require.Len(t, g, len(w), path)
		for i := range w {
			same(t, fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
	default:
		require.Equal(t, want, got, path)
	}
}

// Both sides of this repository use the types; the documents are the real
// agent's. A field that is misspelt, dropped or of another type fails here.
func TestDocumentsSurviveDecodingAndEncoding(t *testing.T) {
	for name, again := range map[string]func([]byte) ([]byte, error){
		"lookup.json":                            roundTrip[agent.Lookup],
		"lookup_old.json":                        roundTrip[agent.Lookup],
		"heartbeat.json":                         roundTrip[agent.Heartbeat],
		"heartbeat_1_36.json":                    roundTrip[agent.Heartbeat],
		"heartbeat_null_token.json":              roundTrip[agent.Heartbeat],
		"heartbeat_status.json":                  roundTrip[agent.Heartbeat],
		"inventory.json":                         roundTrip[agent.Inventory],
		"inspection.json":                        roundTrip[agent.Inspection],
		"inspection_failed.json":                 roundTrip[agent.Inspection],
		"inspection_answer.json":                 roundTrip[agent.InspectionAnswer],
		"inspection_answer_old.json":             roundTrip[agent.InspectionAnswer],
		"command_get_deploy_steps.json":          params[agent.ListSteps],
		"command_write_image.json":               writeImage,
		"command_execute_clean_step.json":        params[agent.RunStep],
		"command_install_bootloader.json":        params[agent.BootloaderParams],
		"command_power_off.json":                 roundTrip[agent.Command],
		"result_running.json":                    roundTrip[agent.Result],
		"result_write_image.json":                result[stepResult],
		"result_failed.json":                     roundTrip[agent.Result],
		"result_version_mismatch.json":           roundTrip[agent.Result],
		"result_deploy_steps.json":               result[agent.StepLists],
		"result_partition_uuids.json":            result[agent.PartitionUUIDs],
		"result_partition_uuids_whole_disk.json": result[agent.PartitionUUIDs],
		"commands.json":                          roundTrip[agent.CommandList],
		"commands_booted.json":                   roundTrip[agent.CommandList],
		"status.json":                            roundTrip[agent.AgentStatus],
		"fault_busy.json":                        roundTrip[agent.Fault],
		"fault_token.json":                       roundTrip[agent.Fault],
		"fault_error.json":                       roundTrip[agent.Fault],
	} {
		t.Run(name, func(t *testing.T) {
			document := fixture(t, name)
			encoded, err := again(document)
			require.NoError(t, err)
			var want, got any
			require.NoError(t, json.Unmarshal(document, &want))
			require.NoError(t, json.Unmarshal(encoded, &got))
			same(t, "", want, got)
		})
	}
}

func TestInventoryReadsAsMeant(t *testing.T) {
	inv := decode[agent.Inventory](t, "inventory.json")
	require.Equal(t, []string{"52:54:00:12:34:01", "52:54:00:12:34:02"}, inv.MACs())
	require.EqualValues(t, 64, inv.CPU.Count)
	require.EqualValues(t, 196608, inv.Memory.PhysicalMB)
	require.EqualValues(t, 479559942144, inv.Disks[0].Size)
	require.Equal(t, agent.Text("uefi"), inv.Boot.Mode)
	require.Equal(t, agent.Text("2.19.1"), inv.SystemVendor.Firmware.Version)
}

func TestOddInventoryIsStillHeard(t *testing.T) {
	inv := decode[agent.Inventory](t, "inventory_odd.json")
	require.EqualValues(t, 25000, inv.Interfaces[0].SpeedMbps, "a number as a string")
	require.EqualValues(t, 8, inv.CPU.Count)
	require.Equal(t, agent.Text("2100.5"), inv.CPU.Frequency, "a string as a number")
	require.EqualValues(t, 1_000_000_000_000, inv.Disks[0].Size, "a float")
	require.Equal(t, agent.Text("12345"), inv.Disks[0].Serial)
	require.Zero(t, inv.Memory.Total)
	require.Zero(t, inv.Memory.PhysicalMB, "no number at all")
	require.Empty(t, inv.Boot.Mode)
}

func TestUnknownTextIsWrittenAsNull(t *testing.T) {
	b, err := json.Marshal(agent.Disk{Name: "/dev/vda"})
	require.NoError(t, err)
	require.Contains(t, string(b), `"wwn":null`)
}

func TestInspectionKeepsWhatItDoesNotKnow(t *testing.T) {
	in := decode[agent.Inspection](t, "inspection.json")
	require.NotNil(t, in.Inventory)
	require.Equal(t, agent.Text("/dev/sda"), in.Inventory.Disks[0].Name)
	require.Empty(t, in.Error)
	require.Contains(t, in.Plugin, "root_disk")
	require.Contains(t, in.Plugin, "pci_devices")
	require.NotContains(t, in.Plugin, "inventory")

	failed := decode[agent.Inspection](t, "inspection_failed.json")
	require.Nil(t, failed.Inventory)
	require.Contains(t, failed.Error, "Failed to find disks")

	var odd agent.Inspection
	require.NoError(t, json.Unmarshal([]byte(`{"inventory":`+string(fixture(t, "inventory_odd.json"))+`}`), &odd))
	require.Contains(t, string(odd.RawInventory), "something_new")
	out, err := json.Marshal(odd)
	require.NoError(t, err)
	require.Contains(t, string(out), "something_new")
	require.Contains(t, string(out), `"error":null`)
}

func TestCommandErrorsInEveryShape(t *testing.T) {
	for name, want := range map[string]string{
		"result_failed.json":         "Image failed to verify against checksum. location: /dev/sda; image ID: cirros-0.6.3.qcow2; image checksum: 7d63; verification checksum: 9999",
		"result_failed_text.json":    "Flushing file system buffers failed",
		"result_failed_wrapped.json": "Flushing file system buffers failed",
		"result_running.json":        "the agent gave no reason",
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, want, decode[agent.Result](t, name).Error.Text()) })
	}
}

func TestStepsReadAsMeant(t *testing.T) {
	var lists agent.StepLists
	require.NoError(t, decode[agent.Result](t, "result_clean_steps.json").Decode(&lists))
	steps := lists.Of(agent.CleanFamily)["GenericHardwareManager"]
	require.Len(t, steps, 3)
	require.EqualValues(t, 30, steps[2].Priority, "a priority as a string")
	require.True(t, steps[2].RebootRequested)
	require.False(t, *steps[2].RequiresRamdisk)
	require.Nil(t, steps[0].RequiresRamdisk, "missing means true")
	require.Empty(t, lists.Of(agent.DeployFamily))
}

func TestNamesOfCommands(t *testing.T) {
	require.Equal(t, "execute_clean_step", agent.BareName(agent.ExecuteCleanStep))
	require.Equal(t, "sync", agent.BareName("sync"))
	require.Equal(t, agent.GetServiceSteps, agent.ServiceFamily.List())
	require.Equal(t, agent.ExecuteDeployStep, agent.DeployFamily.Execute())
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, n := range names {
		f.Add(fixture(f, filepath.Base(n)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Whatever decodes must encode again, and decode then: a document that
		// was stored can always be read back.
		for _, again := range []func([]byte) ([]byte, error){
			roundTrip[agent.Lookup], roundTrip[agent.Heartbeat], roundTrip[agent.Inspection],
			roundTrip[agent.Inventory], roundTrip[agent.CommandList], roundTrip[agent.StepLists],
		} {
			out, err := again(b)
			if err != nil {
				continue
			}
			_, err = again(out)
			require.NoError(t, err, "%s", out)
		}
		var list agent.CommandList
		if json.Unmarshal(b, &list) == nil {
			o := agent.Order{Command: agent.ExecuteDeployStep, Interface: "deploy", Step: "write_image"}
			issued := agent.Issue(o, list.Commands)
			for _, given := range []*agent.Issued{nil, &issued} {
				require.NotEmpty(t, agent.Next(o, given, list.Commands).Action)
			}
		}
	})
}
