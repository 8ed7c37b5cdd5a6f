//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/ramdisk/module"
)

// openModules opens the index of the running kernel's modules.
func openModules() (*module.Index, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("ask the kernel for its version: %w", err)
	}
	return module.OpenIndex(filepath.Join("/lib/modules", unix.ByteSliceToString(u.Release[:])))
}

// load loads the modules that a device, an alias or a module's name asks for. A driver that finds its device missing says
// ENODEV, which is no fault.
func load(x *module.Index, wanted string) error {
	var failed error
	for _, path := range x.Order(wanted) {
		err := loadFile(path)
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			failed = errors.Join(failed, fmt.Errorf("load %s: %w", filepath.Base(path), err))
		}
	}
	return failed
}

func loadFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.FinitModule(int(f.Fd()), "", 0)
}

// modprobe is what the kernel calls when it misses a module, as /sbin/modprobe -q -- NAME. It returns the exit code.
func modprobe(args []string) int {
	x, err := openModules()
	if err != nil {
		return 1
	}
	code := 0
	for _, name := range args {
		if strings.HasPrefix(name, "-") {
			continue
		}
		if err := load(x, name); err != nil {
			say("modprobe: %v", err)
			code = 1
		}
	}
	return code
}
