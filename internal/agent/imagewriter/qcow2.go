//go:build linux

package imagewriter

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/qcow2"
)

// viaScratch writes a qcow2 image whose disk has size bytes. Its tables may be anywhere, so the file is stored first: on the disk
// behind the place of its content or, if it has no room there, in the scratch folder. The digest is known before the beginning of the
// disk is written.
func (j *job) viaScratch(from io.Reader, size int64) (begun bool, err error) {
	if size > j.target.size {
		return false, j.tooLarge(size)
	}
	base := (size + mib - 1) / mib * mib
	room := j.target.size - base
	var store scratch
	if j.length > 0 && j.length > room {
		f, err := j.scratchFile()
		if err != nil {
			return false, err
		}
		defer func() { _ = f.Close() }() // it has no name any more
		store = scratch{f, f, 0, j.length}
	} else {
		begun = true
		if err := j.prepare(); err != nil {
			return true, err
		}
		store = scratch{j.target, j.target, base, room}
		defer func() { err = errors.Join(err, j.target.zero(base, min(room, (j.read+mib-1)/mib*mib))) }()
	}
	if err := store.fill(from); err != nil {
		return begun, err
	}
	if err := j.checkDigest(); err != nil {
		return begun, err
	}
	if !begun {
		if err := j.prepare(); err != nil {
			return true, err
		}
	}
	if err := j.convert(io.NewSectionReader(store.r, store.at, j.read), size); err != nil {
		return true, err
	}
	return true, j.finish()
}

// scratch is a place for a file of limit bytes.
type scratch struct {
	w     io.WriterAt
	r     io.ReaderAt
	at    int64
	limit int64
}

func (s scratch) fill(from io.Reader) error {
	n, err := io.Copy(io.NewOffsetWriter(s.w, s.at), io.LimitReader(from, s.limit))
	if err != nil {
		return err
	}
	if extra, err := io.Copy(io.Discard, io.LimitReader(from, 1)); err != nil || extra > 0 {
		return errors.Join(err, fmt.Errorf("not enough space for the qcow2 file: it has more than the %d bytes that are left", n))
	}
	return nil
}

// scratchFile returns a file without a name for as many bytes as the image has.
func (j *job) scratchFile() (*os.File, error) {
	var fs unix.Statfs_t
	if j.Scratch == "" || unix.Statfs(j.Scratch, &fs) != nil || int64(fs.Bavail)*fs.Bsize < j.length+mib {
		return nil, failure.NoDevice("not enough space: the disk of %d bytes is too small for the qcow2 image beside its content, and so is the memory; "+
			"give a raw image, which is streamed to the disk", j.target.size)
	}
	f, err := os.CreateTemp(j.Scratch, "image-*")
	if err != nil {
		return nil, fmt.Errorf("make a file for the qcow2 image: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a file for the qcow2 image: %w", err), f.Close())
	}
	return f, nil
}

// convert writes the disk that is in a qcow2 file. checkQCOW2 has found that it refers to no other file.
func (j *job) convert(file io.ReaderAt, size int64) error {
	err := qcow2.Read(file, size, j.put)
	var unreadable *qcow2.UnreadableError
	if errors.As(err, &unreadable) {
		return failure.InvalidImage("Image failed safety check: %s", unreadable)
	}
	return err
}
