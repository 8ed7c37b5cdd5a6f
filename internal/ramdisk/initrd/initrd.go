// Package initrd writes the archive that Linux unpacks into its first file system: newc cpio, compressed with zstd. The same
// files give the same bytes; no clock and no owner gets into it.
package initrd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/cavaliergopher/cpio"
	"github.com/klauspost/compress/zstd"
)

// Files are the files of an initrd, by their paths without a leading slash. Folders come by themselves.
type Files map[string]File

// File is a file of an initrd: a copy of the file From, a link to Link, or Content.
type File struct {
	From    string
	Link    string
	Content []byte
	Mode    fs.FileMode // its permissions; 0 = 0644
	Folder  bool
}

// Write writes the archive of files.
func Write(w io.Writer, files Files) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithEncoderConcurrency(1), // with more, the bytes depend on the machine's number of cores
		zstd.WithWindowSize(8<<20),     // the kernel needs that much memory to unpack it
	)
	if err != nil {
		return err
	}
	archive := cpio.NewWriter(z)
	all := withFolders(files)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if err := add(archive, int64(i+1), name, all[name]); err != nil {
			return fmt.Errorf("initrd: %s: %w", name, err)
		}
	}
	return errors.Join(archive.Close(), z.Close())
}

// withFolders adds the folders in which files lie.
func withFolders(files Files) Files {
	all := maps.Clone(files)
	for name := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := all[dir]; !there {
				all[dir] = File{Folder: true}
			}
		}
	}
	return all
}

func add(archive *cpio.Writer, inode int64, name string, f File) error {
	h := &cpio.Header{Name: name, Inode: inode, Links: 1}
	content := f.Content
	switch {
	case f.Folder:
		h.Mode, h.Links = cpio.TypeDir|cpio.FileMode(modeOr(f.Mode, 0o755)), 2
	case f.Link != "":
		content = []byte(f.Link)
		h.Mode, h.Size = cpio.TypeSymlink|0o777, int64(len(content))
	case f.From != "":
		var err error
		if content, err = os.ReadFile(f.From); err != nil {
			return err
		}
		fallthrough
	default:
		h.Mode, h.Size = cpio.TypeReg|cpio.FileMode(modeOr(f.Mode, 0o644)), int64(len(content))
	}
	if err := archive.WriteHeader(h); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

func modeOr(mode, otherwise fs.FileMode) fs.FileMode {
	if mode == 0 {
		return otherwise
	}
	return mode.Perm()
}
