//go:build linux

// Package efiboot changes which programs UEFI starts, as efibootmgr does: the variables Boot0000 to BootFFFF are load options, and
// BootOrder says in which order they are tried (UEFI specification 2.10, section 3.3). The kernel shows variables as files (efivarfs).
package efiboot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Folder is where the kernel shows UEFI's variables. It is there only if UEFI has booted the machine.
const Folder = "/sys/firmware/efi/efivars"

// global is EFI_GLOBAL_VARIABLE, the vendor of the variables that the specification names.
const global = "-8be4df61-93ca-11d2-aa0d-00e098032b8c"

// kept are the attributes of the variables: kept when the power is off, seen by firmware and by the system (EFI_VARIABLE_NON_VOLATILE,
// EFI_VARIABLE_BOOTSERVICE_ACCESS, EFI_VARIABLE_RUNTIME_ACCESS).
const kept = 7

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// Description is the name of the option that Set makes.
const Description = "Temper"

var optionFile = regexp.MustCompile(`^Boot([0-9A-F]{4})` + global + `$`)

// programs are what UEFI starts from a medium without options of its own (UEFI specification 2.10, section 3.5.1.1), by Go's name of the
// processor.
var programs = map[string]string{"amd64": `\EFI\BOOT\BOOTX64.EFI`, "arm64": `\EFI\BOOT\BOOTAA64.EFI`, "riscv64": `\EFI\BOOT\BOOTRISCV64.EFI`}

// Program is what UEFI starts on a machine with this processor.
func Program() string { return programs[runtime.GOARCH] }

// Set makes Program of file systems the first that UEFI tries, in their order. It removes the options that Set made before, and those that
// start from a partition with the same GUID: an image has the same GUIDs on each disk. The others stay.
func Set(folder string, parts ...Partition) (removed []string, err error) {
	if Program() == "" {
		return nil, fmt.Errorf("the name of the boot loader is not known for %s", runtime.GOARCH)
	}
	order, err := readOrder(folder)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read UEFI's variables: %w", err)
	}
	used := map[uint16]bool{}
	for _, e := range entries {
		digits := optionFile.FindStringSubmatch(e.Name())
		if digits == nil {
			continue
		}
		n, _ := strconv.ParseUint(digits[1], 16, 16) // four digits
		number := uint16(n)
		used[number] = true
		b, err := readVariable(folder, e.Name())
		if err != nil {
			return removed, err
		}
		o, err := parse(b)
		if err != nil || o.description != Description && !slices.ContainsFunc(parts, func(p Partition) bool { return o.startsFrom(p.GUID) }) {
			continue
		}
		if err := remove(filepath.Join(folder, e.Name())); err != nil {
			return removed, err
		}
		delete(used, number)
		order = slices.DeleteFunc(order, func(n uint16) bool { return n == number })
		removed = append(removed, o.description)
	}
	var first []uint16
	for _, p := range parts {
		number := uint16(0)
		for used[number] {
			number++
		}
		used[number] = true
		if err := write(folder, fmt.Sprintf("Boot%04X%s", number, global), newOption(Description, p, Program()).marshal()); err != nil {
			return removed, err
		}
		first = append(first, number)
	}
	var b []byte
	for _, n := range append(first, slices.DeleteFunc(order, func(n uint16) bool { return slices.Contains(first, n) })...) {
		b = binary.LittleEndian.AppendUint16(b, n)
	}
	return removed, write(folder, "BootOrder"+global, b)
}

// readOrder returns the numbers in BootOrder. New firmware has none.
func readOrder(folder string) (order []uint16, err error) {
	b, err := readVariable(folder, "BootOrder"+global)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for ; len(b) >= 2; b = b[2:] {
		order = append(order, binary.LittleEndian.Uint16(b))
	}
	return order, nil
}

// readVariable returns the content of a variable, without the four bytes of attributes before it.
func readVariable(folder, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil, fmt.Errorf("read UEFI's variable: %w", err)
	}
	return b[min(4, len(b)):], nil
}

// write writes a variable in one call, as efivarfs wants it.
func write(folder, name string, content []byte) error {
	path := filepath.Join(folder, name)
	if err := unlock(path); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(binary.LittleEndian.AppendUint32(nil, kept), content...), 0o644); err != nil { //nolint:gosec // as the kernel's
		return fmt.Errorf("write UEFI's variable: %w", err)
	}
	return nil
}

func remove(path string) error {
	if err := unlock(path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove UEFI's variable: %w", err)
	}
	return nil
}

// unlock makes a variable's file mutable. The kernel makes it immutable, because some firmware did not start any more after rm -rf
// (Documentation/filesystems/efivarfs.rst).
func unlock(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open UEFI's variable: %w", err)
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil || flags&immutable == 0 {
		return nil //nolint:nilerr // a file system without flags has no immutable files
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags&^immutable); err != nil {
		return fmt.Errorf("make UEFI's variable %s mutable: %w", filepath.Base(path), err)
	}
	return nil
}
