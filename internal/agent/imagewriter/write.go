//go:build linux

package imagewriter

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5" // still known to Ironic; whoever calls decides whether it may be used
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// hashes are the algorithms of digests, by Ironic's names.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// Writer writes images.
type Writer struct {
	Client *http.Client // for image servers
	// Scratch is the folder for a qcow2 image that finds no room on the disk behind the disk that is in it. It is used only if its
	// file system has that much space.
	Scratch string
	// Progress is told how much of the work is done, from 0 to 1, and how many bytes of the image have arrived. It may be nil.
	Progress func(fraction float64, bytes int64)
}

// job is one write of an image.
type job struct {
	*Writer
	image  Image
	target *Target
	digest hash.Hash // of the file on the server
	length int64     // of that file, 0 = not told
	read   int64     // of that file
	out    int64     // bytes of the disk written
	sum    hash.Hash // of what is written to the disk
	// prepare is called when the image's beginning was found to be right, before anything is written to the disk.
	prepare func() error
}

// Write downloads an image to the disk, checks its digest, reads the disk back, and repairs the partition table. What a check of the
// image's beginning refuses leaves the disk as it was. After any later error nothing on the disk can be booted.
func (w *Writer) Write(ctx context.Context, i Image, t *Target) error {
	return w.write(ctx, i, t, t, t.Wipe)
}

// write writes an image to a target, which is the disk or a partition of it.
func (w *Writer) write(ctx context.Context, i Image, disk, t *Target, prepare func() error) error {
	create, known := hashes[strings.ToLower(i.Algorithm)]
	if !known || len(i.Digest) != create().Size()*2 {
		return failure.Any("Unable to verify image %s with available checksums: %q is no digest of the algorithm %q", i.ID, i.Digest, i.Algorithm)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(stallLimit, func() { stop(errStalled) })
	defer watch.Stop()
	res, err := w.open(ctx, i)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	j := &job{Writer: w, image: i, target: t, digest: create(), sum: create(), length: max(0, res.ContentLength), prepare: prepare}
	begun, err := j.run(source{res.Body, watch, j.passed})
	if begun && err != nil {
		err = errors.Join(err, disk.Wipe())
	}
	return j.explain(ctx, err)
}

// explain gives an error of the connection or the disk the words that conductors know.
func (j *job) explain(ctx context.Context, err error) error {
	var known *failure.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	text := err.Error()
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		text = errStalled.Error()
	case errors.Is(err, io.ErrUnexpectedEOF) && j.length > 0 && j.read < j.length:
		text = fmt.Sprintf("IncompleteRead(%d bytes read, %d more expected)", j.read, j.length-j.read)
	}
	return failure.Download("Download of image %s failed: Unable to write image to device. Error: %s", j.image.ID, text)
}

func (j *job) passed(b []byte) {
	_, _ = j.digest.Write(b) // hashes do not fail
	j.read += int64(len(b))
	j.tell(0)
}

// tell reports the progress: nine tenths are for the download and the write, the rest is for reading the disk back.
func (j *job) tell(verified float64) {
	if j.Progress != nil && j.length > 0 {
		j.Progress(0.9*float64(j.read)/float64(j.length)+0.1*verified, j.read)
	}
}

// run writes the image. begun says whether the disk was changed.
func (j *job) run(from io.Reader) (begun bool, err error) {
	in := bufio.NewReaderSize(from, 1<<20)
	plain, packed, err := unpack(in)
	if err != nil {
		return false, err
	}
	defer plain.Close()
	content := bufio.NewReaderSize(plain, 1<<20)
	first, err := content.Peek(agent.FormatBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	qcow2, err := j.image.check(first)
	switch {
	case err != nil:
		return false, err
	case qcow2 && packed:
		return false, failure.InvalidImage("Security: the image is a compressed qcow2; give the qcow2 image itself, which can be compressed inside")
	case qcow2:
		size, err := checkQCOW2(first)
		if err != nil {
			return false, err
		}
		return j.viaScratch(content, size)
	case !packed && j.length > j.target.size:
		return false, j.tooLarge(j.length)
	}
	if err := j.prepare(); err != nil {
		return true, err
	}
	if err := j.copy(content); err != nil {
		return true, err
	}
	// What is behind the end of compressed data belongs to the file, too.
	if _, err := io.Copy(io.Discard, in); err != nil {
		return true, err
	}
	if err := j.checkDigest(); err != nil {
		return true, err
	}
	return true, j.finish()
}

func (j *job) tooLarge(n int64) error {
	return failure.NoDevice("not enough space: image %s needs %d bytes, and the disk has %d; it is too small for the image", j.image.ID, n, j.target.size)
}

func (j *job) checkDigest() error {
	if have := hex.EncodeToString(j.digest.Sum(nil)); !strings.EqualFold(have, j.image.Digest) {
		return failure.Checksum("Image failed to verify against checksum. location: %s; image ID: %s; image checksum: %s; verification checksum: %s",
			j.target.f.Name(), j.image.ID, j.image.Digest, have)
	}
	return nil
}

// unpack returns what is in a compressed stream, or the stream itself.
func unpack(in *bufio.Reader) (plain io.ReadCloser, packed bool, err error) {
	first, err := in.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	switch {
	case bytes.HasPrefix(first, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(in)
		return z, true, err
	case bytes.HasPrefix(first, []byte("\xfd7zXZ\x00")):
		z, err := xz.NewReader(in)
		return io.NopCloser(z), true, err
	case bytes.HasPrefix(first, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, true, err
		}
		return z.IOReadCloser(), true, nil
	}
	return io.NopCloser(in), false, nil
}

// grain is the smallest run of zeros that is not written as data.
const grain = 64 << 10

// copy writes a stream from the beginning of the disk on.
func (j *job) copy(from io.Reader) error {
	buffer := make([]byte, mib)
	for {
		n, err := fill(from, buffer)
		if n > 0 {
			if err := j.put(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// fill reads until b is full. Unlike io.ReadFull it returns the error of the reader: the end of an image is not that of a connection.
func fill(from io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = from.Read(b[n:])
		n += k
	}
	return n, err
}

// put writes the next bytes of the disk. Runs of zeros are not transferred.
func (j *job) put(b []byte) error {
	if j.out+int64(len(b)) > j.target.size {
		return j.tooLarge(j.out + int64(len(b)))
	}
	_, _ = j.sum.Write(b) // hashes do not fail
	for len(b) > 0 {
		n := min(grain, len(b))
		empty := isZero(b[:n])
		for n < len(b) && isZero(b[n:min(n+grain, len(b))]) == empty {
			n = min(n+grain, len(b))
		}
		if empty {
			if err := j.target.zero(j.out, int64(n)); err != nil {
				return err
			}
		} else if _, err := j.target.WriteAt(b[:n], j.out); err != nil {
			return fmt.Errorf("write image to device: %w", err)
		}
		j.out += int64(n)
		b = b[n:]
	}
	return nil
}

// finish reads the disk back, and completes its partition table.
func (j *job) finish() error {
	if err := j.target.settle(); err != nil {
		return err
	}
	back := hashes[strings.ToLower(j.image.Algorithm)]()
	buffer := make([]byte, mib)
	for at := int64(0); at < j.out; {
		n, err := j.target.ReadAt(buffer[:min(mib, j.out-at)], at)
		if n == 0 && err != nil {
			return failure.Deployment("writing image to device %s: it can't be read back: %s", j.target.f.Name(), err)
		}
		_, _ = back.Write(buffer[:n]) // hashes do not fail
		at += int64(n)
		j.tell(float64(at) / float64(j.out))
	}
	if !bytes.Equal(back.Sum(nil), j.sum.Sum(nil)) {
		return failure.Deployment("writing image to device %s: the disk returns other data than were written to it", j.target.f.Name())
	}
	return j.target.repairTable()
}
