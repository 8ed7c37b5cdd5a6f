// Package module knows the modules of a Linux kernel: which device wants which module, what a module needs, and the index
// by which a running ramdisk finds them. It loads none.
package module

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Info is what a module says of itself in its section .modinfo.
type Info struct {
	Name     string // with _ for each -, as the kernel names it
	Path     string // below the folder of all modules, such as kernel/drivers/net/igb/igb.ko
	Aliases  []string
	Depends  []string // names of modules that have to be there before
	Soft     []string // names or aliases of modules that it works better with
	Firmware []string // files below /lib/firmware that its devices may ask for
}

// Name returns the kernel's name of a module.
func Name(s string) string { return strings.ReplaceAll(s, "-", "_") }

// Read reads what the modules below dir say. dir is the folder of a kernel's version, such as /lib/modules/6.1.0-56-amd64.
func Read(dir string) ([]Info, error) {
	var all []Info
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".ko" {
			return err
		}
		info, err := readInfo(path)
		if err != nil {
			return fmt.Errorf("module %s: %w", path, err)
		}
		info.Path, err = filepath.Rel(dir, path)
		all = append(all, info)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no modules (*.ko) below %s", dir)
	}
	return all, nil
}

func readInfo(path string) (Info, error) {
	f, err := elf.Open(path)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = f.Close() }()
	section := f.Section(".modinfo")
	if section == nil {
		return Info{}, errors.New("it has no section .modinfo")
	}
	b, err := section.Data()
	if err != nil {
		return Info{}, err
	}
	info := parseInfo(b)
	info.Name = Name(strings.TrimSuffix(filepath.Base(path), ".ko"))
	return info, nil
}

// parseInfo reads the key=value strings of .modinfo, each with a 0 after it (linux/moduleparam.h).
func parseInfo(b []byte) Info {
	var info Info
	for field := range bytes.SplitSeq(b, []byte{0}) {
		key, value, _ := strings.Cut(string(field), "=")
		switch key {
		case "alias":
			info.Aliases = append(info.Aliases, value)
		case "depends":
			for name := range strings.SplitSeq(value, ",") {
				if name != "" {
					info.Depends = append(info.Depends, Name(name))
				}
			}
		case "softdep":
			for name := range strings.FieldsSeq(value) {
				if name != "pre:" && name != "post:" {
					info.Soft = append(info.Soft, name)
				}
			}
		case "firmware":
			info.Firmware = append(info.Firmware, value)
		}
	}
	return info
}

// Builtin reads which modules are part of the kernel itself, from its file modules.builtin.
func Builtin(dir string) (map[string]bool, error) {
	b, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for path := range strings.FieldsSeq(string(b)) {
		names[Name(strings.TrimSuffix(filepath.Base(path), ".ko"))] = true
	}
	return names, nil
}
