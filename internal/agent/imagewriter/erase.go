//go:build linux

package imagewriter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Samples is at how many places of a disk is read whether an overwrite has reached it.
const Samples = 64

// overwritten is after how many bytes the agent has the kernel write and forget them: it keeps them in memory otherwise.
const overwritten = 64 * mib

// Overwrite writes zeros to the whole disk, and reads them at Samples places. It really writes: a disk that was only
// asked to forget its content answers with zeros, and may have it yet. It does not reach what a disk has set aside for worn blocks. told is called with how many
// bytes were written.
func (t *Target) Overwrite(ctx context.Context, told func(n int64)) error {
	for at := int64(0); at < t.size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := t.f.WriteAt(zeros[:min(int64(len(zeros)), t.size-at)], at)
		if err != nil {
			return fmt.Errorf("overwrite it at byte %d: %w", at+int64(n), err)
		}
		if at += int64(n); at%overwritten == 0 || at == t.size {
			if err := t.settle(); err != nil {
				return err
			}
			told(at)
		}
	}
	return t.sample()
}

// sample reads the disk at its beginning, its end and between.
func (t *Target) sample() error {
	if err := t.settle(); err != nil {
		return err
	}
	buf := make([]byte, min(mib, t.size))
	last := (t.size - int64(len(buf))) / t.sector * t.sector
	for i := range int64(Samples) {
		at := last / (Samples - 1) * i / t.sector * t.sector
		if i == Samples-1 {
			at = last
		}
		n, err := t.f.ReadAt(buf[:min(int64(len(buf)), t.size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read what was overwritten, at byte %d: %w", at, err)
		}
		if !isZero(buf[:n]) {
			return fmt.Errorf("at byte %d it still has other bytes than the zeros that were written", at)
		}
	}
	_ = unix.Fadvise(int(t.f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice
	return nil
}
