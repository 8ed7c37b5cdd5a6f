package agent

import (
	"bytes"
	"encoding/binary"
)

// Formats of disk images, by the agent's names.
const (
	FormatRaw   = "raw"
	FormatGPT   = "gpt" // a raw image that begins with a partition table, GPT or MBR
	FormatQCOW2 = "qcow2"
	FormatISO   = "iso"
)

// FormatBytes is how many bytes of the beginning of an image DetectFormats needs. The
// volume descriptor of an ISO 9660 image begins at 32 KiB.
const FormatBytes = 33 << 10

// magics are the formats that begin with fixed bytes (oslo_utils,
// imageutils/format_inspector.py, which the agent uses).
var magics = []struct {
	format string
	at     int
	magic  string
}{
	{FormatQCOW2, 0, "QFI\xfb"},
	{"vhd", 0, "conectix"},
	{"vhdx", 0, "vhdxfile"},
	{"vmdk", 0, "KDMV"},
	{"vdi", 64, "\x7f\x10\xda\xbe"},
	{"qed", 0, "QED\x00"},
	{"luks", 0, "LUKS\xba\xbe"},
	{FormatISO, 32<<10 + 1, "CD001"},
}

// DetectFormats returns the formats that match the first FormatBytes of an image.
// There may be several: a bootable ISO has a partition table, too. An image that
// matches none is raw.
func DetectFormats(first []byte) []string {
	var out []string
	for _, m := range magics {
		if len(first) >= m.at && bytes.HasPrefix(first[m.at:], []byte(m.magic)) {
			out = append(out, m.format)
		}
	}
	if hasPartitionTable(first) {
		out = append(out, FormatGPT)
	}
	if out == nil {
		return []string{FormatRaw}
	}
	return out
}

// hasPartitionTable reports whether first begins with a master boot record, which a
// GPT disk has, too. The boot sector of a FAT file system ends in the same signature
// and is no partition table.
func hasPartitionTable(first []byte) bool {
	if len(first) < 512 || binary.LittleEndian.Uint16(first[510:]) != 0xaa55 {
		return false
	}
	fat := first[0x10] == 2 && first[0x15] == 0xf8
	return !fat
}
