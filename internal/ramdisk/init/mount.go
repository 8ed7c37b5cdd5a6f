//go:build linux

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mount mounts what programs expect of Linux. It may run again: what is mounted stays.
func mount() {
	for _, m := range []struct {
		kind, at string
		flags    uintptr
		must     bool
	}{
		{"devtmpfs", "/dev", unix.MS_NOSUID, true},
		{"proc", "/proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, true},
		{"sysfs", "/sys", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, true},
		{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, true},
		{"tmpfs", "/tmp", unix.MS_NOSUID | unix.MS_NODEV, true},
		{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, true},
		{"tmpfs", "/dev/shm", unix.MS_NOSUID | unix.MS_NODEV, true},
		// Only with UEFI.
		{"efivarfs", "/sys/firmware/efi/efivars", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC, false},
	} {
		if m.must {
			if err := os.MkdirAll(m.at, 0o755); err != nil {
				say("%v", err)
			}
		}
		err := unix.Mount(m.kind, m.at, m.kind, m.flags, "")
		if err != nil && !errors.Is(err, unix.EBUSY) && (m.must || !errors.Is(err, unix.ENOENT)) {
			say("mount %s on %s: %v", m.kind, m.at, err)
		}
	}
	// What the kernel says would crowd out what the services say.
	if err := os.WriteFile("/proc/sys/kernel/printk_devkmsg", []byte("on\n"), 0); err != nil {
		say("%v", err)
	}
}
