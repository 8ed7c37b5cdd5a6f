package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/admission"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Obstacles finds something exactly where Verb refuses, and Verb's reason first.
func TestObstaclesAreThoseOfVerb(t *testing.T) {
	for _, v := range node.Verbs {
		for _, state := range node.States() {
			for flags := range 16 {
				n := &node.Node{
					UUID: "u", ProvisionState: state, Driver: "redfish", Maintenance: flags&1 > 0, Protected: flags&2 > 0, Retired: flags&4 > 0, DisablePowerOff: flags&8 > 0,
				}
				before := *n
				_, err := admission.Verb(n, v, "")
				all := admission.Obstacles(n, v, "")
				require.Equal(t, before, *n)
				if err == nil {
					require.Empty(t, all)
					continue
				}
				require.Equal(t, fault.Text(err), fault.Text(all[0]), "%s in %s", v.Target, state)
			}
		}
	}
	rebuild := node.VerbOf("rebuild")
	n := &node.Node{UUID: "u", ProvisionState: node.Active, Driver: "redfish", Maintenance: true, Protected: true}
	require.Len(t, admission.Obstacles(n, rebuild, ""), 2)
}

func TestTheRootDiskIsTheOneThatTheAgentTakes(t *testing.T) {
	inventory := map[string]any{"disks": []any{
		map[string]any{"name": "/dev/sda", "size": float64(1 << 30), "serial": "A"},
		map[string]any{"name": "/dev/sdb", "size": float64(100 << 30), "serial": "B"},
		map[string]any{"name": "/dev/sdc", "size": float64(50 << 30), "serial": "C"},
	}}
	for name, c := range map[string]struct {
		hints map[string]any
		want  string // "" = can't be said
		fails bool
	}{
		"the smallest of 4 GiB or more":  {nil, "/dev/sdc", false},
		"by its serial number":           {map[string]any{"serial": "b"}, "/dev/sdb", false},
		"by a size":                      {map[string]any{"size": float64(50)}, "/dev/sdc", false},
		"by a least size":                {map[string]any{"size": ">= 60"}, "/dev/sdb", false},
		"none":                           {map[string]any{"serial": "X"}, "", true},
		"the first that hints name":      {map[string]any{"serial": "s!= A"}, "/dev/sdb", false},
		"a fact that is not known":       {map[string]any{"wwn": "0x1"}, "", false},
		"a hint that only the agent has": {map[string]any{"by_magic": "x"}, "", false},
	} {
		n := &node.Node{UUID: "u", Properties: map[string]any{"root_device": c.hints}}
		disk, known, err := admission.RootDisk(n, inventory)
		require.Equal(t, c.fails, err != nil, name)
		require.Equal(t, c.want, disk.Name, name)
		require.Equal(t, c.want != "" || c.fails, known, name)
	}
	_, known, err := admission.RootDisk(&node.Node{}, nil)
	require.NoError(t, err)
	require.False(t, known)
}
