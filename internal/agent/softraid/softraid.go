//go:build linux

// Package softraid makes arrays of whole disks with the kernel's software RAID (md) and the program mdadm. It knows its own arrays by the
// names of their partitions, and never touches others.
package softraid

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The names of partitions. That of a member ends with the number of its array, which counts the logical disks from 0.
const (
	espName    = "temper-esp"
	memberName = "temper-raid-"
)

// Host is the machine whose disks the arrays are made of.
type Host struct {
	// Root is the folder in which sys and dev are.
	Root string
	// Mdadm runs mdadm. Nil = the program.
	Mdadm func(ctx context.Context, args ...string) error
}

// Part is a partition of a disk.
type Part struct {
	Name, Disk  string // such as /dev/sda2 and /dev/sda
	Label       string
	Number      int
	Start, Size int64 // bytes
}

// array returns the number of the array that the partition is a member of.
func (p Part) array() (number int, ours bool) {
	digits, ours := strings.CutPrefix(p.Label, memberName)
	number, err := strconv.Atoi(digits)
	return number, ours && err == nil
}

// Array is an array that runs.
type Array struct {
	Name    string // such as /dev/md0
	Number  int
	Level   string // as the kernel calls it, such as raid1
	Size    int64  // bytes
	Members []Part
}

func (h Host) path(parts ...string) string {
	return filepath.Join(append([]string{h.Root}, parts...)...)
}

func (h Host) read(parts ...string) string {
	b, _ := os.ReadFile(h.path(parts...)) // what is not there is empty
	return strings.TrimSpace(string(b))
}

func (h Host) list(parts ...string) (names []string) {
	entries, _ := os.ReadDir(h.path(parts...)) // what is not there is empty
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (h Host) bytes(parts ...string) int64 {
	n, _ := strconv.ParseInt(h.read(parts...), 10, 64) // no number is 0
	return n * 512
}

// parts returns the partitions of a disk in their order, as the kernel knows them.
func (h Host) parts(disk string) (all []Part) {
	name := filepath.Base(disk)
	for _, part := range h.list("sys/block", name) {
		dir := filepath.Join("sys/block", name, part)
		number, err := strconv.Atoi(h.read(dir, "partition"))
		if err != nil {
			continue
		}
		p := Part{Name: "/dev/" + part, Disk: "/dev/" + name, Number: number, Start: h.bytes(dir, "start"), Size: h.bytes(dir, "size")}
		for line := range strings.Lines(h.read(dir, "uevent")) {
			if label, found := strings.CutPrefix(strings.TrimSpace(line), "PARTNAME="); found {
				p.Label = label
			}
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Part) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// ours returns the members of each array of ours, whether it runs or not.
func (h Host) ours() map[int][]Part {
	out := map[int][]Part{}
	for _, disk := range h.list("sys/block") {
		for _, p := range h.parts(disk) {
			if number, ours := p.array(); ours {
				out[number] = append(out[number], p)
			}
		}
	}
	return out
}

// running returns our arrays that the kernel has, in the order of their numbers.
func (h Host) running() (all []Array) {
	members := map[string]Part{}
	for _, parts := range h.ours() {
		for _, p := range parts {
			members[filepath.Base(p.Name)] = p
		}
	}
	for _, name := range h.list("sys/block") {
		if !strings.HasPrefix(name, "md") {
			continue
		}
		a := Array{Name: "/dev/" + name, Level: h.read("sys/block", name, "md/level"), Size: h.bytes("sys/block", name, "size")}
		for _, slave := range h.list("sys/block", name, "slaves") {
			if p, ours := members[slave]; ours {
				a.Number, _ = p.array()
				a.Members = append(a.Members, p)
			}
		}
		if a.Members != nil {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b Array) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Arrays starts our arrays that do not run, also those that lack a disk, and returns all of them. The first has the system.
func (h Host) Arrays(ctx context.Context) ([]Array, error) {
	there := map[int]bool{}
	for _, a := range h.running() {
		there[a.Number] = true
	}
	for number, parts := range h.ours() {
		var names []string
		for _, p := range parts {
			if h.hasSuperblock(p) {
				names = append(names, p.Name)
			}
		}
		if there[number] || len(names) == 0 {
			continue
		}
		if err := h.mdadm(ctx, append([]string{"--assemble", "--run", device(number)}, names...)...); err != nil {
			return nil, err
		}
	}
	return h.running(), nil
}

func device(number int) string { return "/dev/md" + strconv.Itoa(number) }

// hasSuperblock reports whether a partition was a member of an array: metadata of version 1.2 begins 4 KiB into it (md_p.h of Linux).
func (h Host) hasSuperblock(p Part) bool {
	f, err := os.Open(h.path(p.Disk))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 4)
	_, err = f.ReadAt(b, p.Start+4096)
	return err == nil && binary.LittleEndian.Uint32(b) == 0xa92b4efc
}

// ESPs returns the EFI system partitions on the disks of an array.
func (h Host) ESPs(a Array) (all []Part) {
	for _, m := range a.Members {
		for _, p := range h.parts(m.Disk) {
			if p.Label == espName {
				all = append(all, p)
			}
		}
	}
	return all
}

// Stop stops our arrays.
func (h Host) Stop(ctx context.Context) error {
	for _, a := range h.running() {
		if err := h.mdadm(ctx, "--stop", a.Name); err != nil {
			return err
		}
	}
	return nil
}

// commandTime is how long mdadm may take. It starts the kernel's work, and does not wait for its end.
const commandTime = 2 * time.Minute

func (h Host) mdadm(ctx context.Context, args ...string) error {
	run := h.Mdadm
	if run == nil {
		run = program
	}
	if err := run(ctx, args...); err != nil {
		return fmt.Errorf("mdadm %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// program runs the program mdadm, in English.
func program(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	path, err := exec.LookPath("mdadm")
	if err != nil {
		path = "/usr/bin/mdadm" // the agent of a ramdisk has no search path
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}
