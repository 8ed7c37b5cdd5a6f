package ironic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api/apitest"
)

const raidPath = "/v1/nodes/n1/states/raid"

func TestARAIDConfigurationIsKept(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	config := map[string]any{"logical_disks": []any{
		map[string]any{"size_gb": 100, "raid_level": "1", "is_root_volume": true, "controller": "RAID.1", "physical_disks": []any{"d1", "d2"}},
		map[string]any{"size_gb": "MAX", "raid_level": "5", "number_of_physical_disks": 3, "disk_type": "ssd", "interface_type": "sata", "volume_name": "data"},
	}}
	b.At(12, "PUT", raidPath, config).Is(204)
	disks := b.Get("/v1/nodes/n1").Is(200)["target_raid_config"].(map[string]any)["logical_disks"].([]any)
	require.Len(t, disks, 2)
	require.Equal(t, "MAX", disks[1].(map[string]any)["size_gb"])
	require.Equal(t, disks, b.Get("/v1/nodes/n1/states").Is(200)["target_raid_config"].(map[string]any)["logical_disks"])
	b.Put(raidPath, map[string]any{}).Is(204)
	require.Empty(t, b.Get("/v1/nodes/n1").Is(200)["target_raid_config"])
	b.At(11, "PUT", raidPath, config).Fails(406)
	b.Put(raidPath, []any{}).Fails(400)
}

func TestARAIDConfigurationThatIsRefusedNamesTheField(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n1", "driver_info": map[string]any{"redfish_address": "https://bmc.example.org"}}).Is(201)
	disk := func(change map[string]any) any {
		d := map[string]any{"size_gb": 10, "raid_level": "1"}
		for k, v := range change {
			if d[k] = v; v == nil {
				delete(d, k)
			}
		}
		return map[string]any{"logical_disks": []any{d}}
	}
	for words, config := range map[string]any{
		"'logical_disks' is a required property":                map[string]any{"logical_disks": nil},
		"'disks' was unexpected":                                map[string]any{"disks": []any{}},
		"logical_disks is empty":                                map[string]any{"logical_disks": []any{}},
		"logical_disks/0: it is not an object":                  map[string]any{"logical_disks": []any{1}},
		"'size_gb' is a required property":                      disk(map[string]any{"size_gb": nil}),
		"'raid_level' is a required property":                   disk(map[string]any{"raid_level": nil}),
		"raid_level: '7' is not one of":                         disk(map[string]any{"raid_level": "7"}),
		"size_gb is not a whole number":                         disk(map[string]any{"size_gb": 0}),
		"number_of_physical_disks is not a whole number":        disk(map[string]any{"number_of_physical_disks": 1.5}),
		"disk_type: 'tape' is not one of":                       disk(map[string]any{"disk_type": "tape"}),
		"is_root_volume is not a boolean":                       disk(map[string]any{"is_root_volume": "yes"}),
		"'controller' is a dependency of 'physical_disks'":      disk(map[string]any{"physical_disks": []any{"a", "b"}}),
		"physical_disks has 'a' twice":                          disk(map[string]any{"controller": "c", "physical_disks": []any{"a", "a"}}),
		"physical_disks has an element that is not a string":    disk(map[string]any{"controller": "c", "physical_disks": []any{1}}),
		"volume_name is not a string":                           disk(map[string]any{"volume_name": 1}),
		"interface_type: `scsi` is not supported":               disk(map[string]any{"interface_type": "scsi"}),
		"Raid config cannot have more than one root volume. 2 ": map[string]any{"logical_disks": []any{map[string]any{"size_gb": 1, "raid_level": "0", "is_root_volume": true}, map[string]any{"size_gb": 1, "raid_level": "0", "is_root_volume": true}}},
	} {
		require.Contains(t, b.Put(raidPath, config).Fails(400), words)
	}
}

func TestANodeWithoutRAIDTakesNoConfiguration(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1", "raid_interface": "no-raid"}).Is(201)
	body := map[string]any{"logical_disks": []any{map[string]any{"size_gb": 1, "raid_level": "0"}}}
	require.Contains(t, b.Put(raidPath, body).Fails(404), "does not support raid (disabled or not implemented)")
}

func TestARAIDConfigurationWaitsForTheNode(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Enrolled("n1")
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Is(202)
	body := map[string]any{"logical_disks": []any{map[string]any{"size_gb": 1, "raid_level": "0"}}}
	require.Contains(t, b.Put(raidPath, body).Fails(409), "is locked by host")
}

// The rules of software RAID are Ironic's (ironic-python-agent, hardware.py, validate_configuration).
func TestSoftwareRAIDIsCheckedWhenItIsSet(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	b.Post("/v1/nodes", map[string]any{
		"driver": "redfish", "name": "n1", "raid_interface": "agent", "driver_info": map[string]any{"redfish_address": "https://bmc.example.org"},
	}).Is(201)
	with := func(disk, change map[string]any) map[string]any {
		d := map[string]any{"size_gb": disk["size_gb"], "raid_level": disk["raid_level"], "controller": "software"}
		for k, v := range change {
			d[k] = v
		}
		return d
	}
	root, data := map[string]any{"size_gb": 100, "raid_level": "1"}, map[string]any{"size_gb": "MAX", "raid_level": "0"}
	put := func(disks ...any) map[string]any { return map[string]any{"logical_disks": disks} }
	hints := []any{map[string]any{"serial": "A"}, map[string]any{"size": ">= 100"}}
	b.Put(raidPath, put(with(root, map[string]any{"is_root_volume": true, "volume_name": "os", "physical_disks": hints}), with(data, nil))).Is(204)
	for words, config := range map[string]any{
		"logical_disks/0: controller: it must be software":                   put(with(root, map[string]any{"controller": "R1"})),
		"logical_disks/0: raid_level: the first logical disk has the system": put(with(data, nil)),
		"logical_disks/1: raid_level: software RAID has 0, 1, 1+0, 5 and 6":  put(with(root, nil), with(data, map[string]any{"raid_level": "5+0"})),
		"logical_disks/1: is_root_volume: ":                                  put(with(root, nil), with(data, map[string]any{"is_root_volume": true})),
		"logical_disks/0: disk_type: ":                                       put(with(root, map[string]any{"disk_type": "ssd"})),
		"logical_disks/0: interface_type: ":                                  put(with(root, map[string]any{"interface_type": "sas"})),
		"logical_disks/0: number_of_physical_disks: ":                        put(with(root, map[string]any{"number_of_physical_disks": 2})),
		"logical_disks/0: physical_disks: software RAID takes root device":   put(with(root, map[string]any{"physical_disks": []any{"a", "b"}})),
		"logical_disks/0: physical_disks: RAID 1 needs 2 disks or more":      put(with(root, map[string]any{"physical_disks": hints[:1]})),
		"physical_disks: there is no root device hint":                       put(with(root, map[string]any{"physical_disks": []any{map[string]any{"colour": "red"}, hints[0]}})),
		"size_gb: MAX is for one logical disk at most":                       put(with(root, map[string]any{"size_gb": "MAX"}), with(data, nil)),
	} {
		require.Contains(t, b.Put(raidPath, config).Fails(400), words)
	}
	b.Post("/v1/nodes", map[string]any{"driver": "redfish", "name": "n2", "driver_info": map[string]any{"redfish_address": "https://bmc2.example.org"}}).Is(201)
	hinted := b.Put("/v1/nodes/n2/states/raid", put(with(root, map[string]any{"physical_disks": hints}))).Fails(400)
	require.Contains(t, hinted, "physical_disks: hints are not supported by BMCs")
}
