package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/hardware"
)

func TestVolumesOfRAIDControllersAreKnown(t *testing.T) {
	t.Parallel()
	const disk = "sys/devices/pci0000:00/0000:65:00.0/host0/target0:2:0/0:2:1:0/"
	for name, c := range map[string]struct {
		driver, vendor, model, level string
		want                         string
	}{
		"a volume of a PERC":              {"megaraid_sas", "DELL", "PERC H730P Mini", "", "megaraid_sas"},
		"a volume of a Fujitsu PRAID":     {"megaraid_sas", "FTS", "PRAID EP400i", "", "megaraid_sas"},
		"a disk that a PERC passes on":    {"megaraid_sas", "ATA", "MTFDDAK480TDS", "", ""},
		"a volume of a Smart Array":       {"smartpqi", "HPE", "LOGICAL VOLUME", "RAID 1(1+0)", "smartpqi"},
		"a disk that a Smart Array gives": {"smartpqi", "ATA", "MK000480GWXFF", "N/A", ""},
		"a disk of a plain SAS adapter":   {"mpt3sas", "SEAGATE", "ST4000NM0025", "", ""},
		"a mirror of a SAS adapter":       {"mpt3sas", "LSI", "Logical Volume", "", "mpt3sas"},
		"a BOSS card":                     {"ahci", "ATA", "DELLBOSS VD", "", "BOSS"},
		"a SATA disk":                     {"ahci", "ATA", "MTFDDAK480TDS", "", ""},
	} {
		files := map[string]string{
			"sys/block/sdb":                       "-> ../" + disk[len("sys/"):] + "block/sdb",
			disk + "block/sdb/device/vendor":      c.vendor + "  \n",
			disk + "block/sdb/device/model":       c.model + "\n",
			"sys/class/scsi_host/host0/proc_name": c.driver + "\n",
		}
		if c.level != "" {
			files[disk+"block/sdb/device/raid_level"] = c.level + "\n"
		}
		require.Equal(t, c.want, hardware.Machine{Root: tree(t, files)}.RAIDVolume("sdb"), name)
	}
	require.Empty(t, hardware.Machine{Root: t.TempDir()}.RAIDVolume("nvme0n1"))
}
