//go:build linux

package imagewriter

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
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
		n, err := t.WriteAt(zeros[:min(int64(len(zeros)), t.size-at)], at)
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

// sample reads that the disk has zeros at its beginning, its end and between.
func (t *Target) sample() error {
	return t.eachSample(func(at int64, b []byte) error {
		if !isZero(b) {
			return fmt.Errorf("at byte %d it still has other bytes than the zeros that were written", at)
		}
		return nil
	})
}

// Sampled is what a disk had at some places, for Differs.
type Sampled [][sha256.Size]byte

// markBytes is how much of each place Mark writes, in bytes.
const markBytes = 4096

// Mark writes random bytes at Samples places of a disk that is about to be erased, and returns what the disk has there then. Without them a
// disk whose erased state is a pattern would have the same content before and after.
func (t *Target) Mark() (out Sampled, err error) {
	var places []int64
	if err := t.eachSample(func(at int64, _ []byte) error {
		places = append(places, at)
		return nil
	}); err != nil {
		return nil, err
	}
	mark := make([]byte, markBytes)
	for _, at := range places {
		_, _ = rand.Read(mark) // it never fails
		if _, err := t.WriteAt(mark[:min(markBytes, t.size-at)], at); err != nil {
			return nil, fmt.Errorf("mark it at byte %d: %w", at, err)
		}
	}
	err = t.eachSample(func(_ int64, b []byte) error {
		out = append(out, sha256.Sum256(b))
		return nil
	})
	return out, err
}

// Differs returns an error if the disk still has at some place what it had there before.
func (t *Target) Differs(before Sampled) error {
	i := 0
	return t.eachSample(func(at int64, b []byte) error {
		same := sha256.Sum256(b) == before[i]
		i++
		if same {
			return fmt.Errorf("at byte %d it still has what it had before", at)
		}
		return nil
	})
}

// eachSample reads the disk at its beginning, its end and between.
func (t *Target) eachSample(f func(at int64, b []byte) error) error {
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
		n, err := t.ReadAt(buf[:min(int64(len(buf)), t.size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the disk at byte %d: %w", at, err)
		}
		if err := f(at, buf[:n]); err != nil {
			return err
		}
	}
	_ = unix.Fadvise(int(t.f.Fd()), 0, 0, unix.FADV_DONTNEED) // advice
	return nil
}
