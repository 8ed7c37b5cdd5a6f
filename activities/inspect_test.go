package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// inspected returns the result of an out-of-band inspection that found this inventory.
func inspected(t *testing.T, inv bmc.Inventory) node.Inspection {
	t.Helper()
	b := newBench(t, node.KindInspect, node.Inspecting, bmc.PowerOff, map[string]string{"power": "redfish", "inspect": "redfish"}, plan.Options{})
	b.machine.inventory = inv
	_, err := b.run()
	require.NoError(t, err)
	return b.book.inspected
}

// Ironic: redfish/inspect.py, _detect_local_gb.
func TestLocalGBIsIronics(t *testing.T) {
	const gib = int64(1) << 30
	for name, c := range map[string]struct {
		sizes []int64
		want  string
	}{
		"the smallest, less one":               {[]int64{960197124096, 480103981056}, "446"},
		"one of less than 4 GiB counts not":    {[]int64{2 * gib, 100 * gib}, "99"},
		"one of 4 GiB does":                    {[]int64{4 * gib, 100 * gib}, "3"},
		"one that is not a whole number of it": {[]int64{10*gib + 5}, "9"},
		"none is large enough":                 {[]int64{2048, gib}, "0"},
		"there is none":                        {nil, "0"},
	} {
		var disks []bmc.Disk
		for _, size := range c.sizes {
			disks = append(disks, bmc.Disk{SizeBytes: size})
		}
		require.Equal(t, c.want, inspected(t, bmc.Inventory{Disks: disks}).Properties["local_gb"], name)
	}
}

func TestOnlyEnabledInterfacesBecomePorts(t *testing.T) {
	found := inspected(t, bmc.Inventory{NICs: []bmc.NIC{
		{Name: "1", MAC: "52:54:00:aa:bb:01", Enabled: true}, {Name: "2", MAC: "52:54:00:aa:bb:02"},
	}})
	require.Equal(t, []node.Port{{Address: "52:54:00:aa:bb:01", PXEEnabled: true}}, found.Ports)
	require.Len(t, found.Inventory["interfaces"], 2, "the inventory tells of both")
}
