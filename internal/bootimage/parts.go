package bootimage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.temper.dev/temper/internal/iso9660"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/ramdisk/iso"
)

// commandLine is the kernel's, before what each medium adds: all that is printed goes to the screen and to the first serial port.
const commandLine = "console=tty0 console=ttyS0,115200n8"

// parts are the files of a kernel and a ramdisk.
type parts struct{ kernel, ramdisk string }

// check refuses a kernel that no boot loader could start.
func (p parts) check() error {
	f, err := os.Open(p.kernel)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	const magicAt = 0x202            // "HdrS" of Linux's boot protocol for x86 (Documentation/arch/x86/boot.rst)
	magic := make([]byte, 4)
	if _, err := f.ReadAt(magic, magicAt); err != nil || !bytes.Equal(magic, []byte("HdrS")) {
		return errors.New("the kernel is no Linux kernel for x86")
	}
	return nil
}

// write writes the CD with the boot loaders of another one.
func (p parts) write(name, loaders string) error {
	if err := p.check(); err != nil {
		return err
	}
	from, err := os.Open(loaders)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	files := []iso.File{{Path: "vmlinuz", From: p.kernel}, {Path: "initrd", From: p.ramdisk}}
	const isolinux, core = "isolinux/isolinux.bin", "isolinux/ldlinux.c32"
	work := filepath.Dir(name)
	for _, path := range []string{isolinux, core, iso.ESPFile} {
		at := filepath.Join(work, filepath.Base(path))
		if err := extract(from, path, at); err != nil {
			return fmt.Errorf("take the boot loaders from %s: %w", loaders, err)
		}
		if path != iso.ESPFile {
			files = append(files, iso.File{Path: path, From: at})
		}
	}
	for path, content := range medium.Files(commandLine) {
		files = append(files, iso.File{Path: path, Content: content})
	}
	return iso.Write(name, iso.Image{
		Label: medium.Label, Files: files, BIOS: isolinux, ESP: &iso.File{From: filepath.Join(work, filepath.Base(iso.ESPFile))},
	})
}

// extract writes a file of a CD to a path.
func extract(cd *os.File, path, to string) (err error) {
	p, err := iso9660.Find(cd, path)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(cd, p.Offset, p.Size))
	return errors.Join(err, out.Close())
}
