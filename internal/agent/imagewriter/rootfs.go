//go:build linux

package imagewriter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/filesystem"
	"github.com/google/uuid"

	"go.temper.dev/temper/internal/agent/bootloader"
)

// fatSerial is where a FAT32 file system has its number.
const fatSerial = 67

// fileSystem is what a partition has.
type fileSystem struct{ kind, uuid string }

// superblocks are where file systems have their magic number and their UUID, by the kernel's name of them.
var superblocks = []struct {
	kind   string
	magic  string
	at, id int64
}{
	{"ext4", "\x53\xef", 0x438, 0x468},
	{"xfs", "XFSB", 0, 32},
	{"btrfs", "_BHRfS_M", 0x10040, 0x10020},
}

// fileSystem recognizes the file systems that an image may be.
func (t *Target) fileSystem() fileSystem {
	for _, s := range superblocks {
		magic, id := make([]byte, len(s.magic)), uuid.UUID{}
		if _, err := t.ReadAt(magic, s.at); err != nil || string(magic) != s.magic {
			continue
		}
		if _, err := t.ReadAt(id[:], s.id); err == nil {
			return fileSystem{s.kind, id.String()}
		}
	}
	return fileSystem{}
}

// fatID returns the number of a FAT32 file system, as blkid prints it.
func (t *Target) fatID() string {
	b := make([]byte, 4)
	if _, err := t.ReadAt(b, fatSerial); err != nil {
		return ""
	}
	n := binary.LittleEndian.Uint32(b)
	return fmt.Sprintf("%04X-%04X", n>>16, n&0xffff)
}

// ErrNoRoot says that no partition has the root file system.
var ErrNoRoot = errors.New("no partition has this file system")

// InstallLoaders fills the EFI system partition with what starts the system in the file system with this UUID. It may be called again.
func (t *Target) InstallLoaders(root string) (err error) {
	esp, found := t.ESP()
	var from *partition
	for _, p := range t.partitions() {
		if id := t.section(p).fileSystem(); strings.EqualFold(id.uuid, root) {
			from = &p
		}
	}
	switch {
	case from == nil:
		return ErrNoRoot
	case !found:
		return errors.New("the disk has no EFI system partition")
	}
	image, done, err := t.section(*from).mount()
	if err != nil {
		return fmt.Errorf("read the image's file system: %w", err)
	}
	files, err := loaders(image, root)
	if err := errors.Join(err, done()); err != nil {
		return fmt.Errorf("find the image's boot loader: %w", err)
	}
	return t.section(partition{int64(esp.Start) * t.sector, int64(esp.Sectors) * t.sector}).newESP(root, files)
}

// loaders is bootloader.Files of an image that may be damaged: the library that reads ext4 trusts its numbers.
func loaders(image fs.FS, root string) (files map[string][]byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			files, err = nil, fmt.Errorf("its file system is damaged: %v", p)
		}
	}()
	return bootloader.Files(image, root)
}

// addFiles writes files into a new file system.
func addFiles(to filesystem.FileSystem, files map[string][]byte) error {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if dir := path.Dir(name); dir != "." {
			if err := to.Mkdir("/" + dir); err != nil {
				return fmt.Errorf("make the folder of %s: %w", name, err)
			}
		}
		f, err := to.OpenFile("/"+name, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		back, err := to.ReadFile("/" + name)
		if err != nil || !bytes.Equal(back, files[name]) {
			return errors.Join(err, fmt.Errorf("the disk returns another %s than was written to it", name))
		}
	}
	return nil
}
