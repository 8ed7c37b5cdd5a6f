package activities_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// raidAgent is an agent that runs each command at once, and keeps which steps were asked for.
type raidAgent struct {
	steps   []string
	configs []any
	have    []int  // how many logical disks the node had for each
	result  string // of a step; "" = null, as of ironic-python-agent's delete_configuration
	list    []string
}

func (a *raidAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"commands": [`+strings.Join(a.list, ",")+`]}`)
		return
	}
	var got struct {
		Params struct {
			Step struct{ Step string }
			Node struct {
				Target any `json:"target_raid_config"`
				Have   struct {
					Disks []any `json:"logical_disks"`
				} `json:"raid_config"`
			}
		}
	}
	if json.NewDecoder(r.Body).Decode(&got) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	step, result := got.Params.Step.Step, "null"
	if step == "create_configuration" {
		result = a.result
	}
	if step != "" { // it is not asked for its log
		a.steps, a.configs = append(a.steps, step), append(a.configs, got.Params.Node.Target)
		a.have = append(a.have, len(got.Params.Node.Have.Disks))
	}
	answer := fmt.Sprintf(`{"id": "s%d", "command_name": "execute_clean_step", "command_status": "SUCCEEDED", "command_params": {"step": {"step": %q, "interface": "raid"}}, "command_result": {"clean_result": %s}}`,
		len(a.steps), step, result)
	a.list = append(a.list, answer)
	_, _ = io.WriteString(w, answer)
}

func softwareBench(t *testing.T, name string, args map[string]any, disks ...any) (*bench, *raidAgent) {
	n := &node.Node{
		UUID: uuid, ProvisionState: node.CleanWait, Interfaces: map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "raid": "agent"},
		RAIDConfig: map[string]any{"logical_disks": []any{map[string]any{"id": "/dev/md7"}}},
	}
	if disks != nil {
		n.TargetRAIDConfig = map[string]any{"logical_disks": disks}
	}
	b := newBenchOf(t, n, nil, node.KindClean, bmc.PowerOn, plan.Options{DisableRamdisk: true})
	a := &raidAgent{result: `{"logical_disks": [{"id": "/dev/md0", "raid_level": "1"}]}`, list: []string{`{"id": "c0", "command_name": "get_clean_steps", "command_status": "SUCCEEDED"}`}}
	b.withAgentAt(a.ServeHTTP)
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "raid", Step: name, Source: node.SourceDriver, State: node.StepRunning, Args: args}}
	})
	return b, a
}

// systemAndData are logical disks for the system and for data.
func systemAndData() []any {
	return []any{disk("1", 50, "controller", "software"), disk("0", "MAX", "controller", "software")}
}

func TestSoftwareRAIDIsMadeByTheAgent(t *testing.T) {
	t.Parallel()
	b, a := softwareBench(t, "create_configuration", map[string]any{"delete_existing": true, "create_nonroot_volumes": false}, systemAndData()...)
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"delete_configuration", "create_configuration"}, a.steps)
	require.Len(t, a.configs[1].(map[string]any)["logical_disks"], 1, "only the root volume was asked for")
	got := b.node().RAIDConfig
	require.NotEmpty(t, got["last_updated"])
	require.Equal(t, []any{map[string]any{"id": "/dev/md0", "raid_level": "1"}}, got["logical_disks"])

	b, a = softwareBench(t, "create_configuration", nil, systemAndData()...)
	a.result = "null"
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"create_configuration"}, a.steps)
	require.Len(t, b.node().RAIDConfig["logical_disks"], 2, "an agent that does not say what it has made has made what was asked for")
}

func TestSoftwareRAIDIsDeletedByTheAgent(t *testing.T) {
	t.Parallel()
	b, a := softwareBench(t, "delete_configuration", nil)
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"delete_configuration"}, a.steps)
	require.Empty(t, b.node().RAIDConfig["logical_disks"])
}

// An erasure makes the arrays again that are there: it has to know what the step before it has made.
func TestTheNextStepKnowsTheSoftwareRAID(t *testing.T) {
	t.Parallel()
	b, a := softwareBench(t, "delete_configuration", nil, systemAndData()...)
	b.changeOp(func(o *node.Operation) {
		for i, name := range []string{"create_configuration", "delete_configuration"} {
			o.Steps = append(o.Steps, node.Step{Index: i + 1, Interface: "raid", Step: name, Source: node.SourceDriver, State: node.StepPending})
		}
	})
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"delete_configuration", "create_configuration", "delete_configuration"}, a.steps)
	require.Equal(t, []int{1, 0, 1}, a.have)
}

func TestAnAgentIsAskedForNoConfigurationThatItCanNotMake(t *testing.T) {
	t.Parallel()
	b, a := softwareBench(t, "create_configuration", map[string]any{"create_root_volume": false}, systemAndData()...)
	_, err := b.run()
	require.ErrorContains(t, err, "the first logical disk has the system and must be RAID 1")
	require.Empty(t, a.steps)
	b, a = softwareBench(t, "create_configuration", nil)
	_, err = b.run()
	require.ErrorContains(t, err, "set target_raid_config")
	require.Empty(t, a.steps)
}
