package imagecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/qcow2"
	"go.temper.dev/temper/internal/text"
)

// disk returns how many bytes the disk in a qcow2 image has, if it is to be taken out of it; 0 = the image is served as it is. An image that
// instance_info calls qcow2 must be one, and one that it calls raw is served as it is.
func (d *download) disk(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	first := make([]byte, qcow2.HeaderSize)
	n, err := f.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	is := n >= len(qcow2.Magic) && string(first[:len(qcow2.Magic)]) == qcow2.Magic
	switch {
	case d.info.Format == agent.FormatQCOW2 && !is:
		return 0, fault.Coded(fault.ImageFormatWrong, "instance_info says that it is a qcow2 image, and it is none")
	case !is || !d.Raw || d.info.Format == agent.FormatRaw:
		return 0, nil
	}
	disk, err := qcow2.Check(first[:n])
	if err == nil && disk > maxDisk {
		err = fmt.Errorf("its disk has %s, and can have %s", text.Size(float64(disk)), text.Size(maxDisk))
	}
	if err != nil {
		return 0, fault.Coded(fault.ImageFormatWrong, "the qcow2 image can't be served as a raw one: %w", err)
	}
	return disk, nil
}

// maxDisk bounds the disks that are taken out of images: also zeros take time, and an image of a few bytes may have any number of them.
const maxDisk = 2 << 40

// rawSuffix is what the name of a file ends in into which a disk is written.
const rawSuffix = ".raw"

// convert writes the disk in an image to another file, whose name it returns, and removes the image. Where the disk has zeros the file has
// holes.
func (d *download) convert(ctx context.Context, name string, disk int64) (to string, err error) {
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	from, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }() // it was only read
	to = name + rawSuffix
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	fetched, at, sum := d.at, int64(0), sha256.New()
	d.entry.want.Store(disk)
	err = qcow2.Read(from, disk, func(b []byte) error {
		_, _ = sum.Write(b) // a hash takes everything
		if !zeros(b) {
			if err := d.makeRoom(d.entry, d.at+int64(len(b))); err != nil {
				return err
			}
			if _, err := out.WriteAt(b, at); err != nil {
				return writeError(err)
			}
			d.at += int64(len(b))
		}
		at += int64(len(b))
		d.entry.got.Store(at)
		if d.abandoned(d.entry) {
			return errAbandoned
		}
		return ctx.Err()
	})
	if err == nil {
		err = errors.Join(out.Truncate(disk), out.Sync())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		var unreadable *qcow2.UnreadableError
		if errors.As(err, &unreadable) {
			err = fault.Coded(fault.ImageFormatWrong, "%w", unreadable)
		}
		return "", errors.Join(err, os.Remove(to))
	}
	d.at -= fetched
	d.sum = hex.EncodeToString(sum.Sum(nil))
	return to, nil
}

func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// allocated returns how many bytes of the disk a file takes.
func allocated(info os.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
