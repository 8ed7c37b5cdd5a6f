// Package disk is the disk of a simulated server: a file with the bytes that were written
// to it. It never makes up content: it has only what was written and not erased.
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

// metadataBytes is how much EraseMetadata zeroes at both ends of what was written. It is
// more than the partition tables and superblocks that the real agent erases with wipefs and
// sgdisk.
const metadataBytes = 1 << 20

// Content describes something on the disk, as it was read back.
type Content struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// State describes what is on the disk.
type State struct {
	Image       *Content `json:"image,omitempty"`
	ConfigDrive *Content `json:"config_drive,omitempty"`
}

// Disk is a disk. It is safe for concurrent use. Its file is open only while it is read or
// written, so that thousands of disks need no file descriptors.
type Disk struct {
	path string
	size int64

	mu    sync.Mutex
	state State
}

// New returns a disk of size bytes with its content in the file at path. The file is created
// by the first write.
func New(path string, size int64) *Disk { return &Disk{path: path, size: size} }

// Size returns the capacity in bytes.
func (d *Disk) Size() int64 { return d.size }

// State returns what is on the disk.
func (d *Disk) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Restore sets the state that an earlier process saved, without what is no longer in the
// files.
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

// Create begins to write an image at the start of the disk. Until the writer is committed,
// the disk has no image.
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

// WriteConfigDrive writes b into a file beside the image. The real agent creates a partition
// for it at the end of the disk.
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

// EraseMetadata zeroes both ends of what was written. The server can't boot from the disk
// any more, but the data in between is still there.
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

// Identifier returns the disk signature of the master boot record (4 bytes at 440), as the
// real agent's get_disk_identifier prints it, "" if the disk is too short.
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

// Write fails with ENOSPC at the end of the disk, as a block device does.
func (w *Writer) Write(b []byte) (int, error) {
	room := min(int64(len(b)), w.disk.size-w.n)
	n, err := w.file.Write(b[:room])
	w.n += int64(n)
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

// Abort closes the file and leaves it half written. The disk has no image.
func (w *Writer) Abort() { _ = w.file.Close() }

// Commit makes what was written the disk's image. It computes the digest from the file, not
// from the stream.
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
