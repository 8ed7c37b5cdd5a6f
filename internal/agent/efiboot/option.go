//go:build linux

package efiboot

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"

	"github.com/google/uuid"
)

// Partition is a partition of a disk with a GUID partition table. Start and Sectors count logical sectors.
type Partition struct {
	Number         int
	Start, Sectors uint64
	GUID           uuid.UUID
}

// option is a load option, EFI_LOAD_OPTION of the UEFI specification 2.10, section 3.1.3.
type option struct {
	description string
	path        []byte // the device path of the program
}

// active says that the boot manager tries the option by itself (LOAD_OPTION_ACTIVE).
const active = 1

// Kinds of nodes of a device path (UEFI specification 2.10, section 10.3).
const (
	media     = 0x04
	hardDrive = 0x01 // of media
	filePath  = 0x04 // of media
	end       = 0x7f
	wholePath = 0xff // of end
)

// errShort is returned for a load option that ends too early.
var errShort = errors.New("the load option ends too early")

// newOption returns the option that starts a program of a file system on a partition, such as \EFI\BOOT\BOOTX64.EFI.
func newOption(description string, p Partition, program string) option {
	drive := binary.LittleEndian.AppendUint32(nil, uint32(p.Number)) //nolint:gosec // a table has at most 128 entries here
	drive = binary.LittleEndian.AppendUint64(drive, p.Start)
	drive = binary.LittleEndian.AppendUint64(drive, p.Sectors)
	guid := efiGUID(p.GUID)
	drive = append(append(drive, guid[:]...), 2, 2) // a GUID partition table, whose signature is a GUID
	path := node(media, hardDrive, drive)
	path = append(path, node(media, filePath, text(program))...)
	return option{description: description, path: append(path, node(end, wholePath, nil)...)}
}

func node(kind, sub byte, content []byte) []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{kind, sub}, uint16(4+len(content))), content...) //nolint:gosec // short
}

func (o option) marshal() []byte {
	b := binary.LittleEndian.AppendUint32(nil, active)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(o.path))) //nolint:gosec // short
	return append(append(b, text(o.description)...), o.path...)
}

func parse(b []byte) (option, error) {
	if len(b) < 6 {
		return option{}, errShort
	}
	length := int(binary.LittleEndian.Uint16(b[4:]))
	b = b[6:]
	var units []uint16
	for {
		if len(b) < 2 {
			return option{}, errShort
		}
		unit := binary.LittleEndian.Uint16(b)
		b = b[2:]
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	if len(b) < length {
		return option{}, errShort
	}
	return option{description: string(utf16.Decode(units)), path: b[:length]}, nil
}

// startsFrom reports whether the option's program lies on the partition with a GUID.
func (o option) startsFrom(id uuid.UUID) bool {
	guid := efiGUID(id)
	for path := o.path; len(path) >= 4; {
		length := int(binary.LittleEndian.Uint16(path[2:]))
		if length < 4 || length > len(path) {
			return false
		}
		if path[0] == media && path[1] == hardDrive && length == 42 && string(path[24:40]) == string(guid[:]) {
			return true
		}
		path = path[length:]
	}
	return false
}

// text is s in UTF-16 with a zero at its end.
func text(s string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s + "\x00")) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// efiGUID returns the bytes of a GUID as UEFI stores them: its first three fields in little endian (UEFI specification 2.10, appendix A).
func efiGUID(id uuid.UUID) (out [16]byte) {
	out = id
	out[0], out[1], out[2], out[3] = id[3], id[2], id[1], id[0]
	out[4], out[5], out[6], out[7] = id[5], id[4], id[7], id[6]
	return out
}
