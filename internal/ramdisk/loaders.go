package ramdisk

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/ramdisk/iso"
	"go.temper.dev/temper/internal/ramdisk/uki"
)

// loaders are the programs that firmware starts and that start the kernel, as paths of files.
type loaders struct {
	shim, mok, grub        string // signed for Secure Boot
	isolinux, isolinuxCore string
	stub                   string // of unified kernel images
}

// loaderFile is a file of one of Debian's packages.
type loaderFile struct {
	path string
	at   *string // gets the path of the unpacked file
}

func (l *loaders) files() map[string]loaderFile {
	return map[string]loaderFile{
		"shim-signed":               {"usr/lib/shim/shimx64.efi.signed", &l.shim},
		"shim-helpers-amd64-signed": {"usr/lib/shim/mmx64.efi.signed", &l.mok},
		// Of Debian's GRUBs this is the one that looks for boot/grub/grub.cfg on the CD that it comes from.
		"grub-efi-amd64-signed": {"usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed", &l.grub},
		"isolinux":              {"usr/lib/ISOLINUX/isolinux.bin", &l.isolinux},
		"syslinux-common":       {"usr/lib/syslinux/modules/bios/ldlinux.c32", &l.isolinuxCore},
		"systemd-boot-efi":      {"usr/lib/systemd/boot/efi/linuxx64.efi.stub", &l.stub},
	}
}

// fetchLoaders downloads and unpacks the boot loaders.
func fetchLoaders(ctx context.Context, apt *debian.Apt) (loaders, []debian.Package, error) {
	var l loaders
	files := l.files()
	packages, err := apt.Fetch(ctx, slices.Collect(maps.Keys(files))...)
	if err != nil {
		return loaders{}, nil, err
	}
	for _, p := range packages {
		dir, err := apt.Unpack(ctx, p)
		if err != nil {
			return loaders{}, nil, err
		}
		f := files[p.Name]
		*f.at = filepath.Join(dir, f.path)
		if _, err := os.Stat(*f.at); err != nil {
			return loaders{}, nil, fmt.Errorf("package %s has no boot loader any more where it was: %w", p.Name, err)
		}
	}
	return l, packages, nil
}

// commandLine is the kernel's command line: all that is said goes to the screen and to the first serial port, and a kernel that
// stops begins anew after a minute, in which a person can read why.
func (c Config) commandLine() string {
	return strings.TrimSpace("console=tty0 console=ttyS0,115200n8 panic=60 " + c.Append)
}

// checkCommandLine refuses what the loaders would not hand on as it is.
func (c Config) checkCommandLine() error {
	line := c.commandLine()
	if len(line) > medium.CommandLineLimit {
		return fmt.Errorf("the kernel's command line would have %d bytes, and it can have %d: shorten what is added to it", len(line), medium.CommandLineLimit)
	}
	if r, bad := medium.BadRune(line); bad {
		return fmt.Errorf("the kernel's command line can't have %q in it, which GRUB would read as its own: take it out of what is added", r)
	}
	return nil
}

// writeImage writes the unified kernel image.
func (l loaders) writeImage(c Config, version string) error {
	stub, err := os.ReadFile(l.stub)
	if err != nil {
		return err
	}
	kernel, err := os.ReadFile(filepath.Join(c.Out, KernelFile))
	if err != nil {
		return err
	}
	initrd, err := os.ReadFile(filepath.Join(c.Out, InitrdFile))
	if err != nil {
		return err
	}
	image, err := uki.Build(stub, []uki.Section{
		{Name: ".osrel", Content: []byte("ID=temper-ramdisk\nPRETTY_NAME=\"Temper's ramdisk\"\n")},
		{Name: ".uname", Content: []byte(version)},
		{Name: ".cmdline", Content: append([]byte(c.commandLine()), 0)},
		{Name: ".linux", Content: kernel},
		{Name: ".initrd", Content: initrd},
	})
	if err != nil {
		return fmt.Errorf("unified kernel image: %w", err)
	}
	return writeFile(filepath.Join(c.Out, ImageFile), func(w io.Writer) error {
		_, err := w.Write(image)
		return err
	})
}

// writeISO writes the ISO. Both loaders find the same kernel and initrd.
func (l loaders) writeISO(c Config) error {
	files := []iso.File{
		{Path: KernelFile, From: filepath.Join(c.Out, KernelFile)},
		{Path: InitrdFile, From: filepath.Join(c.Out, InitrdFile)},
		{Path: "isolinux/isolinux.bin", From: l.isolinux},
		{Path: "isolinux/ldlinux.c32", From: l.isolinuxCore},
	}
	for path, content := range medium.Files(c.commandLine()) {
		files = append(files, iso.File{Path: path, Content: content})
	}
	return iso.Write(filepath.Join(c.Out, ISOFile), iso.Image{
		Label: medium.Label,
		Files: files,
		UEFI: []iso.File{
			{Path: "EFI/BOOT/BOOTX64.EFI", From: l.shim},
			{Path: "EFI/BOOT/mmx64.efi", From: l.mok},
			{Path: "EFI/BOOT/grubx64.efi", From: l.grub},
		},
		BIOS: "isolinux/isolinux.bin",
	})
}
