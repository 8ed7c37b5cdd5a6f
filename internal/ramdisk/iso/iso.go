// Package iso writes CDs from which servers boot, with UEFI and with a BIOS. The same files give the same bytes.
package iso

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
)

// File is a file of a CD: a copy of the file From, or Content.
type File struct {
	Path    string // without a leading slash
	From    string
	Content []byte
}

func (f File) read() ([]byte, error) {
	if f.From == "" {
		return f.Content, nil
	}
	return os.ReadFile(f.From)
}

// Image says what is on a CD.
type Image struct {
	Label string // of the volume; at most 32 letters, digits and _
	// Files are the CD's. Names have at most 8 small letters, digits and _, those of files also a dot and at most 3 after it.
	Files []File
	UEFI  []File // of the file system that UEFI boots from, of 8 MiB
	BIOS  string // path of the program that a BIOS boots, which is one of Files; it must be ISOLINUX
}

// shortPath is a path of names that ISO 9660 can have without an extension. Joliet and Rock Ridge would allow longer names, but
// go-diskfs puts Joliet's descriptor where a BIOS looks for the boot record, and lets its folders lead to the short names (1.9.4).
var shortPath = regexp.MustCompile(`^[a-z0-9_]{1,8}(/[a-z0-9_]{1,8})*(\.[a-z0-9_]{1,3})?$`)

// espFile is the place of UEFI's file system on the CD.
const espFile = "efi.img"

// age is the age of all files. Only what a file has in it counts.
var age = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Write writes a CD into the file name. After an error there is no such file, or the one of before.
func Write(name string, image Image) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(name), ".iso-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	stage, cd := filepath.Join(work, "files"), filepath.Join(work, "cd") // the library writes what is in a folder
	if err := fill(stage, image); err != nil {
		return err
	}
	if err := writeCD(cd, stage, image); err != nil {
		return fmt.Errorf("write the CD: %w", err)
	}
	if err := finish(cd); err != nil {
		return err
	}
	return os.Rename(cd, name)
}

func writeCD(name, stage string, image Image) (err error) {
	b, err := file.CreateFromPath(name, 32*sector) // it grows
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	fs, err := iso9660.Create(b, 0, 0, sector, stage)
	if err != nil {
		return err
	}
	bios := &iso9660.ElToritoEntry{Platform: iso9660.BIOS, Emulation: iso9660.NoEmulation, BootFile: image.BIOS, BootTable: true}
	bios.SetLoadSize(4) // sectors of 512 bytes: ISOLINUX loads the rest of itself
	uefi := &iso9660.ElToritoEntry{Platform: iso9660.EFI, Emulation: iso9660.NoEmulation, BootFile: espFile}
	return fs.Finalize(iso9660.FinalizeOptions{
		VolumeIdentifier: image.Label,
		ElTorito: &iso9660.ElTorito{
			BootCatalog: "boot.cat", HideBootCatalog: true, // it would have the time of the build
			Entries: []*iso9660.ElToritoEntry{bios, uefi},
		},
	})
}

// fill puts the files into a folder, all of one age.
func fill(stage string, image Image) error {
	for _, f := range image.Files {
		if !shortPath.MatchString(f.Path) {
			return fmt.Errorf("a CD can't have a file %s: names have at most 8 small letters, digits and _, and at most 3 after a dot", f.Path)
		}
		content, err := f.read()
		if err != nil {
			return err
		}
		path := filepath.Join(stage, f.Path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
			return err
		}
	}
	if err := writeESP(filepath.Join(stage, espFile), image.UEFI); err != nil {
		return err
	}
	return filepath.WalkDir(stage, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, age, age)
	})
}

// Where the volume's times stand: when it was made, changed, ends and begins to count, with 17 bytes each (ECMA-119, 8.4).
const (
	sector  = 2048
	timesAt = 16*sector + 813
)

// finish sets the times of the volume, which are those of the build, to "not specified", and fills the last sector.
func finish(name string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("0000000000000000\x00", 4)), timesAt); err != nil {
		return err
	}
	return f.Truncate((info.Size() + sector - 1) / sector * sector)
}
