// Package disk is the disk of a simulated server: a file that holds the bytes
// that were written to it. It never invents content: what was not written, or
// was erased, is not there.
package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// metadataBytes is how much erasing metadata zeroes at each end of what was
// written: more than any partition table or superblock the real agent's wipefs
// and sgdisk look for.
const metadataBytes = 1 << 20

// Content is a run of bytes on the disk, as it reads back.
type Content struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// State is what is on the disk, apart from the bytes themselves.
type State struct {
	Image       *Content `json:"image,omitempty"`
	ConfigDrive *Content `json:"config_drive,omitempty"`
}

// Disk is one disk. It is safe for concurrent use; opening files only while it
// is read or written, thousands cost nothing.
type Disk struct {
	path string
	size int64

	mu    sync.Mutex
	state State
}

// New is a disk of size bytes whose bytes are in the file at path. Nothing is
// created until something is written.
func New(path string, size int64) *Disk { return &Disk{path: path, size: size} }

// Size is the capacity in bytes.
func (d *Disk) Size() int64 { return d.size }

// State is what is on the disk now.
func (d *Disk) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Restore takes over the state of an earlier process. An image whose bytes are
// gone is gone.
func (d *Disk) Restore(s State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Image != nil {
		if fi, err := os.Stat(d.path); err != nil || fi.Size() < s.Image.Size {
			s.Image = nil
		}
	}
	if s.ConfigDrive != nil {
		if _, err := os.Stat(d.configDrivePath()); err != nil {
			s.ConfigDrive = nil
		}
	}
	d.state = s
}

// Create begins an image at the start of the disk. From here on the disk holds
// no image until the writer is committed.
func (d *Disk) Create() (*Writer, error) {
	d.mu.Lock()
	d.state = State{}
	d.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return nil, fmt.Errorf("create disk %s: %w", d.path, err)
	}
	f, err := os.Create(d.path)
	if err != nil {
		return nil, fmt.Errorf("create disk %s: %w", d.path, err)
	}
	return &Writer{disk: d, file: f}, nil
}

// WriteConfigDrive puts b beside the image, where the real agent makes a
// partition of it at the end of the disk.
func (d *Disk) WriteConfigDrive(b []byte) error {
	if err := os.WriteFile(d.configDrivePath(), b, 0o600); err != nil {
		return fmt.Errorf("write config drive: %w", err)
	}
	sum := sha256.Sum256(b)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state.ConfigDrive = &Content{Size: int64(len(b)), SHA256: hex.EncodeToString(sum[:])}
	return nil
}

// EraseMetadata zeroes both ends of what was written, so that nothing boots
// from the disk any more though the data in between is still there.
func (d *Disk) EraseMetadata() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = State{}
	f, err := os.OpenFile(d.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("erase metadata: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("erase metadata: %w", err)
	}
	zeros := make([]byte, min(metadataBytes, fi.Size()))
	for _, at := range []int64{0, fi.Size() - int64(len(zeros))} {
		if _, err := f.WriteAt(zeros, at); err != nil {
			return fmt.Errorf("erase metadata: %w", err)
		}
	}
	return d.removeConfigDrive()
}

// Erase makes the whole disk read as zeros.
func (d *Disk) Erase() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = State{}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("erase disk: %w", err)
	}
	return d.removeConfigDrive()
}

// Identifier is the disk signature of the master boot record (4 bytes at 440),
// as the real agent's get_disk_identifier prints it. A disk too short for one
// has none.
func (d *Disk) Identifier() string {
	f, err := os.Open(d.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.ReadAt(b[:], 440); err != nil {
		return ""
	}
	return fmt.Sprintf("0x%08x", binary.LittleEndian.Uint32(b[:]))
}

func (d *Disk) configDrivePath() string { return d.path + ".configdrive" }

func (d *Disk) removeConfigDrive() error {
	if err := os.Remove(d.configDrivePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove config drive: %w", err)
	}
	return nil
}

// Writer streams an image onto a disk.
type Writer struct {
	disk *Disk
	file *os.File
	n    int64
}

// Write fails with ENOSPC where the disk ends, as a block device does.
func (w *Writer) Write(b []byte) (int, error) {
	room := min(int64(len(b)), w.disk.size-w.n)
	n, err := w.file.Write(b[:room])
	w.n += int64(n)
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// Abort closes the disk and leaves it half written, with no image.
func (w *Writer) Abort() { _ = w.file.Close() }

// Commit makes what was written the disk's image: it is read back from the
// file and hashed, not remembered from the stream.
func (w *Writer) Commit() (Content, error) {
	defer w.file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(w.file, 0, w.n)); err != nil {
		return Content{}, fmt.Errorf("read image back: %w", err)
	}
	c := Content{Size: w.n, SHA256: hex.EncodeToString(h.Sum(nil))}
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	w.disk.state.Image = &c
	return c, nil
}
