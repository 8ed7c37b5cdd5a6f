// Package iso writes CDs from which servers boot, with UEFI and with a BIOS. The same files give the same bytes.
package iso

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	diskfs "github.com/diskfs/go-diskfs/filesystem/iso9660"

	"go.temper.dev/temper/internal/iso9660"
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

// write writes the file to path. A kernel's initrd may be larger than the memory of who builds a CD.
func (f File) write(path string) (err error) {
	if f.From == "" {
		return os.WriteFile(path, f.Content, 0o644)
	}
	from, err := os.Open(f.From)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// Image says what is on a CD.
type Image struct {
	Label string // of the volume; at most 32 letters, digits, _ and -
	// Files are the CD's. Names have at most 30 small letters, digits, _, - and dots, and those of files one dot.
	Files []File
	UEFI  []File // of the file system that UEFI boots from, of 8 MiB
	ESP   *File  // that file system itself, of another CD; nil = it is made of UEFI
	BIOS  string // path of the program that a BIOS boots, which is one of Files; it must be ISOLINUX
}

// validPath is a path of names that the CD can have. Its readers see them by Rock Ridge; Joliet, which others read, is left out because
// go-diskfs puts its descriptor where a BIOS looks for the boot record (1.9.4).
var validPath = regexp.MustCompile(`^([a-z0-9_-][a-z0-9_.-]{0,29}/)*[a-z0-9_-]{1,30}(\.[a-z0-9_]{1,10})?$`)

// ESPFile is the place of UEFI's file system on the CD.
const ESPFile = "efi.img"

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
	fs, err := diskfs.Create(b, 0, 0, sector, stage)
	if err != nil {
		return err
	}
	bios := &diskfs.ElToritoEntry{Platform: diskfs.BIOS, Emulation: diskfs.NoEmulation, BootFile: image.BIOS, BootTable: true}
	bios.SetLoadSize(4) // sectors of 512 bytes: ISOLINUX loads the rest of itself
	uefi := &diskfs.ElToritoEntry{Platform: diskfs.EFI, Emulation: diskfs.NoEmulation, BootFile: ESPFile}
	return fs.Finalize(diskfs.FinalizeOptions{
		RockRidge: true, VolumeIdentifier: image.Label,
		ElTorito: &diskfs.ElTorito{
			BootCatalog: "boot.cat", HideBootCatalog: true, // it would have the time of the build
			Entries: []*diskfs.ElToritoEntry{bios, uefi},
		},
	})
}

// fill puts the files into a folder, all of one age.
func fill(stage string, image Image) error {
	for _, f := range image.Files {
		if !validPath.MatchString(f.Path) {
			return fmt.Errorf("a CD can't have a file %s: names have at most 30 small letters, digits, _, - and dots, and those of files at most 10 after the only dot", f.Path)
		}
		path := filepath.Join(stage, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := f.write(path); err != nil {
			return err
		}
	}
	esp := filepath.Join(stage, ESPFile)
	if image.ESP != nil {
		if err := image.ESP.write(esp); err != nil {
			return err
		}
	} else if err := writeESP(esp, image.UEFI); err != nil {
		return err
	}
	return filepath.WalkDir(stage, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, age, age)
	})
}

const sector = iso9660.SectorSize

// finish takes out what only the build decides, and fills the last sector.
func finish(name string) (err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size, err := iso9660.HeadSize(f)
	if err != nil {
		return err
	}
	head := make([]byte, size)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	iso9660.RemoveTraces(head)
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return f.Truncate((info.Size() + sector - 1) / sector * sector)
}
