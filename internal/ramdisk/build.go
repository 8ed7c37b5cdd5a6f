// Package ramdisk builds what a server boots to be deployed, cleaned or inspected: Debian's kernel, and an initrd with the
// modules and the firmware for the network cards and disk controllers of servers. It needs no root and installs nothing; the
// same packages and programs give the same bytes.
package ramdisk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/ramdisk/initrd"
	"go.temper.dev/temper/internal/ramdisk/module"
)

// Debian's packages with firmware, all of the component non-free-firmware. They have that of the modules of devices.
var firmwarePackages = []string{
	"firmware-bnx2", "firmware-bnx2x", "firmware-misc-nonfree", "firmware-qlogic", "firmware-realtek",
}

// kernelPackage depends on the package of Debian's newest kernel.
const kernelPackage = "linux-image-amd64"

// Config says what to build, and where.
type Config struct {
	Cache string // folder of what is downloaded, kept for the next build
	Out   string // folder for the files that are built
	Init  string // the program that becomes /init: static, for Linux on amd64
	// Agent is the program that becomes /temper, which /init runs as the agent. Empty = none.
	Agent   string
	Flavour string // "" or Rescue
	// Append is added to the kernel's command line in the ISO and the unified kernel image: words of ASCII, with spaces between
	// them, without what has a meaning in GRUB's scripts.
	Append string
	Log    io.Writer // gets what the programs of Debian print
}

// The files that Build writes into Config.Out.
const (
	KernelFile   = "vmlinuz"
	InitrdFile   = "initrd"
	ImageFile    = "temper-ramdisk.efi" // unified kernel image
	ISOFile      = "temper-ramdisk.iso" // for UEFI and BIOS
	PackagesFile = "packages.txt"       // a line a package: name, version, SHA-256 of the .deb file
	SumsFile     = "SHA256SUMS"         // of all other files, as sha256sum writes them
)

// Build builds a ramdisk.
func Build(ctx context.Context, c Config) error {
	if err := c.checkCommandLine(); err != nil {
		return err
	}
	if c.Flavour != "" && c.Flavour != Rescue {
		return fmt.Errorf("there is no flavour %q: leave it out, or name %s", c.Flavour, Rescue)
	}
	for _, program := range []string{c.Init, c.Agent} {
		if _, err := os.Stat(program); program != "" && err != nil {
			return fmt.Errorf("program of the ramdisk: %w", err)
		}
	}
	apt, err := debian.Open(ctx, c.Cache, c.Log)
	if err != nil {
		return err
	}
	defer func() { _ = apt.Close() }()
	kernel, packages, err := fetch(ctx, apt)
	if err != nil {
		return err
	}
	loaders, more, err := fetchLoaders(ctx, apt)
	if err != nil {
		return err
	}
	packages = append(packages, more...)
	modules, err := kernel.modules()
	if err != nil {
		return err
	}
	files := initrd.Files{
		"init":              {From: c.Init, Mode: 0o755},
		"sbin/modprobe":     {Link: "/init"},                          // the kernel calls it by this name
		"etc/temper-initrd": {Content: []byte(kernel.version + "\n")}, // by which /init knows where it is
	}
	if c.Agent != "" {
		files["temper"] = initrd.File{From: c.Agent, Mode: 0o755}
	}
	kernel.add(files, modules)
	tools := agentTools
	if c.Flavour == Rescue {
		tools, files["bin/sh"] = rescueTools, initrd.File{Link: "/usr/bin/busybox"}
	}
	if more, err = addTools(ctx, apt, files, tools); err != nil {
		return err
	}
	packages = append(packages, more...)
	if err := errors.Join(os.MkdirAll(c.Out, 0o755), copyFile(kernel.image, filepath.Join(c.Out, KernelFile))); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(c.Out, InitrdFile), func(w io.Writer) error { return initrd.Write(w, files) }); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(c.Out, PackagesFile), func(w io.Writer) error {
		for _, p := range packages {
			if _, err := fmt.Fprintln(w, p.Name, p.Version, p.SHA256); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := loaders.writeImage(c, kernel.version); err != nil {
		return err
	}
	if err := loaders.writeISO(c); err != nil {
		return err
	}
	return sums(c.Out, KernelFile, InitrdFile, ImageFile, ISOFile, PackagesFile)
}

// kernel is an unpacked kernel with the firmware for its modules.
type kernel struct {
	version  string   // such as 6.1.0-56-amd64
	image    string   // path of vmlinuz
	dir      string   // of its modules
	firmware []string // folders of firmware
}

// fetch downloads and unpacks the newest kernel and the firmware.
func fetch(ctx context.Context, apt *debian.Apt) (kernel, []debian.Package, error) {
	depends, err := apt.Depends(ctx, kernelPackage)
	if err != nil {
		return kernel{}, nil, err
	}
	i := slices.IndexFunc(depends, func(name string) bool { return strings.HasPrefix(name, "linux-image-") })
	if i < 0 {
		return kernel{}, nil, fmt.Errorf("package %s depends on no kernel: it depends on %v", kernelPackage, depends)
	}
	packages, err := apt.Fetch(ctx, append([]string{depends[i]}, firmwarePackages...)...)
	if err != nil {
		return kernel{}, nil, err
	}
	var k kernel
	for _, p := range packages {
		dir, err := apt.Unpack(ctx, p)
		if err != nil {
			return kernel{}, nil, err
		}
		if p.Name != depends[i] {
			// Debian moves what is in /lib to /usr/lib.
			k.firmware = append(k.firmware, filepath.Join(dir, "lib/firmware"), filepath.Join(dir, "usr/lib/firmware"))
			continue
		}
		k.version = strings.TrimPrefix(p.Name, "linux-image-")
		k.image = filepath.Join(dir, "boot", "vmlinuz-"+k.version)
		for _, lib := range []string{"lib", "usr/lib"} {
			if d := filepath.Join(dir, lib, "modules", k.version); exists(d) {
				k.dir = d
			}
		}
	}
	if k.dir == "" {
		return kernel{}, nil, fmt.Errorf("package %s has no modules of %s", depends[i], k.version)
	}
	return k, packages, nil
}

// modules are those that the ramdisk has: for devices, those that it always has, and what they need.
func (k kernel) modules() ([]module.Info, error) {
	set, err := k.set()
	if err != nil {
		return nil, err
	}
	names := slices.Clone(always)
	for _, d := range devices {
		names = append(names, d.module)
	}
	return set.Closure(names...)
}

func (k kernel) set() (*module.Set, error) {
	all, err := module.Read(k.dir)
	if err != nil {
		return nil, err
	}
	builtin, err := module.Builtin(k.dir)
	if err != nil {
		return nil, err
	}
	return module.NewSet(all, builtin), nil
}

// add adds modules, their index and their firmware to files.
func (k kernel) add(files initrd.Files, modules []module.Info) {
	dir := "lib/modules/" + k.version + "/"
	for _, m := range modules {
		files[dir+m.Path] = initrd.File{From: filepath.Join(k.dir, m.Path)}
		for _, name := range m.Firmware {
			k.addFirmware(files, name)
		}
	}
	for name, content := range module.IndexFiles(modules) {
		files[dir+name] = initrd.File{Content: content}
	}
}

// addFirmware adds a file of firmware, and what it is a link to. Many a module names firmware of devices that nobody may
// distribute, or that is only for old versions of a device: what Debian does not have is left out.
func (k kernel) addFirmware(files initrd.Files, name string) {
	for _, dir := range k.firmware {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		at := "lib/firmware/" + name
		if info.Mode()&fs.ModeSymlink == 0 {
			files[at] = initrd.File{From: path}
			return
		}
		if target, err := os.Readlink(path); err == nil && !filepath.IsAbs(target) {
			files[at] = initrd.File{Link: target}
			k.addFirmware(files, filepath.Join(filepath.Dir(name), target))
			return
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return writeFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// writeFile writes a file that is whole or not there.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = errors.Join(write(f), f.Chmod(0o644), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

// sums writes the sums of files in dir.
func sums(dir string, names ...string) error {
	all := map[string]string{}
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("sum of %s: %w", name, err)
		}
		all[name] = hex.EncodeToString(h.Sum(nil))
	}
	return writeFile(filepath.Join(dir, SumsFile), func(w io.Writer) error {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if _, err := fmt.Fprintf(w, "%s  %s\n", all[name], name); err != nil {
				return err
			}
		}
		return nil
	})
}
