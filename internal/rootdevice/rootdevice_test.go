package rootdevice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/rootdevice"
)

var disk = rootdevice.Disk{
	Name: "/dev/sda", Size: 480103981056, // 447.13 GiB
	Aliases: []string{"/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"},
	Facts: map[string]string{
		"model": "Micron 5300 MTFD", "vendor": "ATA", "serial": "S1234", "wwn": "0x5000c500a1b2c3d4", "wwn_with_extension": "0x5000c500a1b2c3d4ff",
		"wwn_vendor_extension": "0xff", "rotational": "false", "hctl": "0:2:0:0", "by_path": "/dev/disk/by-path/pci-0000:00:17.0-ata-1", "tran": "",
	},
}

// What Ironic's hints mean: ironic-python-agent, device_hints.py; oslo.utils, specs_matcher.py.
func TestADiskSatisfiesHints(t *testing.T) {
	for hint, want := range map[string]rootdevice.Fit{
		"model: micron 5300 mtfd": rootdevice.Yes, "model: Micron": rootdevice.No, "model: <in> 5300": rootdevice.Yes,
		"model: <in> 5300 MTFD": rootdevice.Yes, "model: s== Micron 5300 MTFD": rootdevice.Yes, "model: s!= Micron 5300 MTFD": rootdevice.No,
		"model: <or> foo <or> Micron 5300 MTFD": rootdevice.Yes, "model: <or> foo <or> bar": rootdevice.No,
		"serial: s1234": rootdevice.Yes, "serial: s< T": rootdevice.Yes, "serial: s<= s1234": rootdevice.Yes, "serial: s> S1234": rootdevice.No,
		"serial: s>= s1233": rootdevice.Yes, "serial: >= 5": rootdevice.No,
		"wwn: 0x5000C500A1B2C3D4": rootdevice.Yes, "wwn: 0x5000C500A1B2C3D4ff": rootdevice.No, "wwn_with_extension: 0x5000c500a1b2c3d4ff": rootdevice.Yes,
		"wwn_vendor_extension: 0xFF": rootdevice.Yes, "hctl: 0:2:0:0": rootdevice.Yes, "hctl: 0:3:0:0": rootdevice.No,
		"by_path: <in> ata-1": rootdevice.Yes, "name: /dev/sda": rootdevice.Yes, "name: /dev/sdb": rootdevice.No,
		"name: /dev/disk/by-id/wwn-0x5000c500a1b2c3d4": rootdevice.Yes, "name: s!= /dev/sdb": rootdevice.Yes,
		"rotational: false": rootdevice.Yes, "rotational: no": rootdevice.Yes, "rotational: True": rootdevice.No,
		"vendor: ata": rootdevice.Yes, "tran: s!= usb": rootdevice.No, // an empty fact satisfies nothing
		"size: 447": rootdevice.Yes, "size: 448": rootdevice.No, "size: == 447": rootdevice.Yes, "size: != 447": rootdevice.No,
		"size: = 400": rootdevice.Yes, "size: = 500": rootdevice.No, "size: >= 447": rootdevice.Yes, "size: > 447": rootdevice.Yes,
		"size: <= 447": rootdevice.No, "size: < 448": rootdevice.Yes, "size: <or> 894 <or> 447": rootdevice.Yes,
	} {
		h, err := rootdevice.Parse(hints(hint))
		require.NoError(t, err, hint)
		require.Equal(t, want, h.Fits(disk), hint)
	}
	all, err := rootdevice.Parse(map[string]any{"size": 447.0, "rotational": false, "serial": "S1234"})
	require.NoError(t, err)
	require.Equal(t, rootdevice.Yes, all.Fits(disk))
	all, err = rootdevice.Parse(map[string]any{"size": 447, "serial": "other"})
	require.NoError(t, err)
	require.Equal(t, rootdevice.No, all.Fits(disk))
}

func TestAFactThatIsNotKnownDecidesNothing(t *testing.T) {
	bare := rootdevice.Disk{Name: "/dev/sda", Size: 100 << 30}
	h, err := rootdevice.Parse(map[string]any{"wwn": "0x1", "size": ">= 50"})
	require.NoError(t, err)
	require.Equal(t, rootdevice.Unknown, h.Fits(bare))
	_, found, known := h.Choose([]rootdevice.Disk{bare})
	require.False(t, found)
	require.False(t, known)

	h, err = rootdevice.Parse(map[string]any{"wwn": "0x1", "size": ">= 500"})
	require.NoError(t, err)
	require.Equal(t, rootdevice.No, h.Fits(bare), "whatever its name, it is too small")
}

func TestWrongHintsAreRefused(t *testing.T) {
	for hint, words := range map[string]string{
		"colour: red": "there is no root device hint", "size: big": "whole number of GiB", "size: 0": "whole number of GiB", "size: 1.5": "whole number of GiB",
		"size: <in> 5": "compares texts", "size: s== 5": "compares texts", "size: <range-in> [ 1 2 ]": "can't be used here",
		"model: <all-in> a b": "can't be used here", "model: <in>": "no value after", "model: <or> a <or>": "no value after", "model: ": "empty",
		"rotational: perhaps": "true or false", "model: == foo": "s== compares texts", "model: = foo": "s== compares texts", "model: >= foo": "s>= compares texts",
	} {
		_, err := rootdevice.Parse(hints(hint))
		require.ErrorContains(t, err, words, hint)
	}
	_, err := rootdevice.Parse(map[string]any{"serial": 5})
	require.ErrorContains(t, err, "must be a text")
	for _, given := range []any{"sda", []any{"x"}, 5, `{"wwn": "nope"}`} {
		_, err := rootdevice.Parse(rootdevice.Of(nil, map[string]any{"root_device": given}))
		require.ErrorIs(t, err, rootdevice.ErrNoObject, given)
	}
}

// hardware.py, get_os_install_device; utils.py, guess_root_disk.
func TestTheChosenDisk(t *testing.T) {
	disks := []rootdevice.Disk{
		{Name: "/dev/sda", Size: 1 << 30}, {Name: "/dev/sdb", Size: 100 << 30}, {Name: "/dev/sdc", Size: 50 << 30}, {Name: "/dev/sdd", Size: 50 << 30},
	}
	for want, given := range map[string]map[string]any{
		"/dev/sdc": nil, "/dev/sdb": {"size": ">= 40"}, "/dev/sda": {"size": "< 4"}, "": {"size": "> 500"},
	} {
		h, err := rootdevice.Parse(given)
		require.NoError(t, err)
		got, found, known := h.Choose(disks)
		require.Equal(t, want, got.Name)
		require.Equal(t, want != "", found)
		require.True(t, known)
	}
	_, found, _ := rootdevice.Hints{}.Choose(disks[:1])
	require.False(t, found)
}

// hints returns the one hint of "name: expression".
func hints(text string) map[string]any {
	for i := range text {
		if text[i] == ':' {
			return map[string]any{text[:i]: text[i+2:]}
		}
	}
	return nil
}
