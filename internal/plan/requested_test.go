package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	. "go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/node/nodetest"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/secret"
)

func TestAskedStepsAreRead(t *testing.T) {
	require.Equal(t, []Step{
		{Interface: "deploy", Step: "erase_devices", Asked: true},
		{Interface: "bios", Step: "apply_configuration", Asked: true, Args: map[string]any{"settings": []any{map[string]any{"name": "a", "value": "b"}}}},
	},
		mustSteps(t, KindClean, `[{"interface":"deploy","step":"erase_devices"},
			{"interface":"bios","step":"apply_configuration","args":{"settings":[{"name":"a","value":"b"}]}}]`))
	require.Equal(t, []Step{
		{Interface: "raid", Step: "x", Asked: true, Priority: 90, Args: map[string]any{}},
		{Interface: "deploy", Step: "wait", Asked: true, Priority: 7, Args: map[string]any{"seconds": json.Number("3")}},
	},
		mustSteps(t, KindDeploy, `[{"interface":"raid","step":"x","args":{},"priority":90},{"interface":"deploy","step":"wait","args":{"seconds":3},"priority":"7"}]`))
	require.Empty(t, mustSteps(t, KindDeploy, ""))
	require.Empty(t, mustSteps(t, KindRebuild, "null"))
}

func TestAskedStepsThatAreRefused(t *testing.T) {
	step := func(s string) string { return `[{"interface":"deploy","step":"x","args":{},"priority":1},` + s + `]` }
	deep := strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)
	for name, c := range map[string]struct {
		kind OperationKind
		raw  string
		want string
	}{
		"no list":                       {KindDeploy, `{"a":1}`, "Invalid deploy_steps: not a list of steps"},
		"broken JSON":                   {KindClean, `[`, "Invalid clean_steps: not a list of steps"},
		"cleaning without steps":        {KindClean, `[]`, `"clean_steps" is required when setting target provision state to clean`},
		"cleaning with null":            {KindClean, `null`, `"clean_steps" is required when setting target provision state to clean`},
		"too many":                      {KindClean, "[" + strings.Repeat("{},", 255) + "{}]", "Invalid clean_steps: 256 steps, more than 255"},
		"no step":                       {KindDeploy, step(`7`), "Invalid deploy_steps: step 1: not of type 'object'"},
		"a null step":                   {KindDeploy, step(`null`), "Invalid deploy_steps: step 1: not of type 'object'"},
		"no interface":                  {KindDeploy, step(`{"step":"x"}`), "Invalid deploy_steps: step 1: 'interface' is a required property"},
		"no name":                       {KindClean, `[{"interface":"deploy"}]`, "Invalid clean_steps: step 0: 'step' is a required property"},
		"no args":                       {KindDeploy, step(`{"interface":"deploy","step":"x","priority":1}`), "Invalid deploy_steps: step 1: 'args' is a required property"},
		"no priority":                   {KindDeploy, step(`{"interface":"deploy","step":"x","args":{}}`), "Invalid deploy_steps: step 1: 'priority' is a required property"},
		"a priority where none belongs": {KindClean, `[{"interface":"deploy","step":"x","priority":1}]`, "Invalid clean_steps: step 0: property 'priority' was unexpected"},
		"an unknown key":                {KindClean, `[{"interface":"deploy","step":"x","Step":"y"}]`, "Invalid clean_steps: step 0: property 'Step' was unexpected"},
		"an interface without steps":    {KindClean, `[{"interface":"network","step":"x"}]`, `Invalid clean_steps: step 0: interface "network" is not one of vendor, power, management, firmware, deploy, bios, raid`},
		"an interface that is a number": {KindClean, `[{"interface":7,"step":"x"}]`, `Invalid clean_steps: step 0: interface 7 is not one of vendor, power, management, firmware, deploy, bios, raid`},
		"an empty name":                 {KindClean, `[{"interface":"deploy","step":""}]`, `Invalid clean_steps: step 0: 'step' "" is not a step's name: letters, digits, _ . -`},
		"a name that is a path":         {KindClean, `[{"interface":"deploy","step":"../x"}]`, `Invalid clean_steps: step 0: 'step' "../x" is not a step's name: letters, digits, _ . -`},
		"a long name":                   {KindClean, `[{"interface":"deploy","step":"` + strings.Repeat("x", 256) + `"}]`, "Invalid clean_steps: step 0: 'step' has 256 characters, more than 255"},
		"args that are a list":          {KindClean, `[{"interface":"deploy","step":"x","args":[]}]`, "Invalid clean_steps: step 0: 'args' is not of type 'object'"},
		"args that are null":            {KindClean, `[{"interface":"deploy","step":"x","args":null}]`, "Invalid clean_steps: step 0: 'args' is not of type 'object'"},
		"deep args":                     {KindClean, `[{"interface":"deploy","step":"x","args":{"a":` + deep + `}}]`, "Invalid clean_steps: step 0: 'args' nests deeper than 25"},
		"a negative priority":           {KindDeploy, step(`{"interface":"deploy","step":"y","args":{},"priority":-1}`), "Invalid deploy_steps: step 1: 'priority' -1 is not an integer from 0 to 2147483647"},
		"a broken priority":             {KindDeploy, step(`{"interface":"deploy","step":"y","args":{},"priority":1.5}`), "Invalid deploy_steps: step 1: 'priority' 1.5 is not an integer from 0 to 2147483647"},
		"a huge priority":               {KindDeploy, step(`{"interface":"deploy","step":"y","args":{},"priority":99999999999}`), "Invalid deploy_steps: step 1: 'priority' 99999999999 is not an integer from 0 to 2147483647"},
		"a hold with an argument":       {KindClean, `[{"interface":"deploy","step":"hold","args":{"x":1}}]`, "Invalid clean_steps: step 0: step hold has an unexpected argument: x"},
		"a wait for words":              {KindClean, `[{"interface":"deploy","step":"wait","args":{"seconds":"x"}}]`, "Invalid clean_steps: step 0: 'seconds' of step wait is not a whole number from 0 to 86400"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.ReadSteps(c.kind, json.RawMessage(c.raw))
			require.EqualError(t, err, c.want)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func TestArgumentsAreMaskedAndFoundAgainAfterMerging(t *testing.T) {
	n := nodetest.Redfish()
	asked := mustSteps(t, KindClean, `[
		{"interface":"deploy","step":"login","args":{"user":"u","password":"one"}},
		{"interface":"deploy","step":"login","args":{"user":"u","password":"two"}},
		{"interface":"deploy","step":"deep","args":{"a":{"token":"three"},"list":[{"secret":"four"}]}}]`)
	planned, err := plan.Steps(KindClean, n, asked, plan.Options{})
	require.NoError(t, err)
	masked, secrets := secret.MaskArgs(n, KindClean, planned)
	text, err := json.Marshal(masked)
	require.NoError(t, err)
	for _, word := range []string{"one", "two", "three", "four"} {
		require.NotContains(t, string(text), word)
	}
	arg := func(names ...string) map[string]ArgSpec {
		out := map[string]ArgSpec{}
		for _, a := range names {
			out[a] = ArgSpec{}
		}
		return out
	}
	merged, err := plan.Merge(n, KindClean, masked, []plan.AgentStep{
		{Interface: "deploy", Step: "login", Args: arg("user", "password")}, {Interface: "deploy", Step: "deep", Args: arg("a", "list")},
	})
	require.NoError(t, err)
	for i, s := range planned {
		require.Equal(t, s.Args, secret.ClearArgs(merged, i, secrets), s.Name())
	}
}

// The step reads its arguments by the same functions, so that what is accepted here does not fail there.
func TestArgumentsOfBIOSFirmwareAndRAIDStepsAreCheckedAtTheRequest(t *testing.T) {
	n := nodetest.Redfish(nodetest.Uses("raid", "redfish"))
	for request, words := range map[string]string{
		`{"interface":"bios","step":"apply_configuration","args":{"settings":{"ProcTurboMode":"Disabled"}}}`:                      "clean step bios.apply_configuration has a wrong argument settings: settings must be a list",
		`{"interface":"bios","step":"apply_configuration","args":{"settings":[{"name":"ProcTurboMode"}]}}`:                        "settings/0 must have a name and a value",
		`{"interface":"bios","step":"apply_configuration","args":{"settings":[{"name":"A","value":1},{"name":"A","value":2}]}}`:   "settings/1: A is there twice",
		`{"interface":"firmware","step":"update","args":{"settings":[{"component":"uefi","url":"http://a/b"}]}}`:                  "clean step firmware.update has a wrong argument settings: settings/0: component must be bios, bmc or nic:ID",
		`{"interface":"firmware","step":"update","args":{"settings":[{"component":"bios","url":"bios.bin"}]}}`:                    "settings/0: url must be",
		`{"interface":"firmware","step":"update","args":{"settings":[{"component":"bios","url":"http://a/b","chksum":"00"}]}}`:    "there is no chksum, only component, url, checksum, wait",
		`{"interface":"firmware","step":"update","args":{"settings":[{"component":"bios","url":"http://a/b","wait":"soon"}]}}`:    "wait must be a number of seconds",
		`{"interface":"firmware","step":"update","args":{"settings":[{"component":"bios","url":"http://a/b","checksum":"abc"}]}}`: "checksum must be one of SHA-256 or SHA-512",
		`{"interface":"raid","step":"create_configuration","args":{"delete_existing":"yes"}}`:                                     "clean step raid.create_configuration has a wrong argument delete_existing: want true or false",
		`{"interface":"management","step":"set_bmc_clock","args":{"target_datetime":"noon"}}`:                                     "clean step management.set_bmc_clock has a wrong argument target_datetime",
		`{"interface":"bios","step":"aply_configuration","args":{}}`:                                                              "does not support this clean step: bios.aply_configuration",
	} {
		asked, err := plan.ReadSteps(KindClean, json.RawMessage("["+request+"]"))
		require.NoError(t, err)
		_, err = plan.Steps(KindClean, n, asked, plan.Options{DisableRamdisk: !strings.Contains(request, "raid")})
		require.ErrorContains(t, err, words)
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
	for config, words := range map[string]string{
		`[]`: "deploy step raid.apply_configuration has a wrong argument raid_config: RAID config validation error: it is not an object",
		`{"logical_disks":[{"raid_level":"9","size_gb":5}]}`:    "logical_disks/0: raid_level: '9' is not one of",
		`{"logical_disks":[{"raid_level":"JBOD","size_gb":5}]}`: "logical_disks/0: raid_level JBOD is not one that a BMC makes",
	} {
		asked, err := plan.ReadSteps(KindDeploy, json.RawMessage(`[{"interface":"raid","step":"apply_configuration","priority":90,"args":{"raid_config":`+config+`}}]`))
		require.NoError(t, err)
		_, err = plan.Steps(KindDeploy, n, asked, plan.Options{})
		require.ErrorContains(t, err, words)
	}

	// A retry plans with what is left of the secret arguments.
	asked := mustSteps(t, KindClean, `[{"interface":"firmware","step":"update","args":{"settings":[{"component":"bios","url":"https://images/bios?sig=hunter2"}]}}]`)
	planned, err := plan.Steps(KindClean, n, asked, plan.Options{DisableRamdisk: true})
	require.NoError(t, err)
	masked, _ := secret.MaskArgs(n, KindClean, planned)
	require.NotEqual(t, planned[0].Args, masked[0].Args)
	_, err = plan.Steps(KindClean, n, masked, plan.Options{DisableRamdisk: true})
	require.NoError(t, err)
}

func FuzzAskedSteps(f *testing.F) {
	f.Add(`[{"interface":"deploy","step":"x","args":{"a":[{}]},"priority":1}]`)
	f.Add(`[{"interface":"deploy","step":"wait","args":{"seconds":1e9}}]`)
	f.Add(`[[]]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range []OperationKind{KindClean, KindDeploy} {
			steps, err := plan.ReadSteps(k, json.RawMessage(text))
			if err != nil {
				require.Equal(t, fault.Invalid, fault.KindOf(err))
				require.Less(t, len(err.Error()), 500)
				continue
			}
			require.LessOrEqual(t, len(steps), plan.MaxSteps)
			for _, n := range []*Node{nodetest.Redfish(), nodetest.Fake()} {
				planned, err := plan.Steps(k, n, steps, plan.Options{})
				if err != nil {
					require.Equal(t, fault.Invalid, fault.KindOf(err))
					continue
				}
				masked, secrets := secret.MaskArgs(n, k, planned)
				for i := range planned {
					require.Equal(t, fmt.Sprint(planned[i].Args), fmt.Sprint(secret.ClearArgs(masked, i, secrets)))
				}
			}
		}
	})
}
