package imagecache

import (
	"context"
	"crypto/md5" //nolint:gosec // only where the site allows it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
)

const (
	// fetchLimit is how long a download may take in all.
	fetchLimit = 6 * time.Hour
	// stallLimit is how long a source may send nothing.
	stallLimit = time.Minute
	// fetchTries is how often a download is tried from where it stopped, if not even a byte arrives in between.
	fetchTries = 5
	// abandonedAfter is how long after the last request for an image its download ends. Conductors that wait ask every two seconds.
	abandonedAfter = 5 * time.Minute
	// recountEvery is after how many bytes of a download of unknown length the room is looked at again.
	recountEvery = 64 << 20
)

// errAbandoned ends a download for which no conductor waits any more.
var errAbandoned = fault.New(fault.Unavailable, "the download ended, because no conductor and no agent has asked for the image for five minutes")

var errStalled = errors.New("it sent nothing for a minute")

// fetch downloads an image, and ends its entry.
func (c *Cache) fetch(ctx context.Context, e *entry, i image.Info) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	since := c.now()
	d := &download{Cache: c, entry: e, info: i}
	err := d.run(ctx)
	if err != nil {
		c.Log.Warn("an image could not be fetched", zap.String("image", i.Shown()), zap.Error(err))
	} else {
		c.Log.Info("an image was fetched", zap.String("image", i.Shown()), zap.Int64("bytes", d.at), zap.Duration("took", c.now().Sub(since)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.size = d.at
	if err != nil {
		e.err, e.failed = fmt.Errorf("%w; fetch image %s", err, i.Shown()), c.now()
	} else {
		e.sha256 = d.sum
	}
	close(e.done)
}

// download is one that is under way.
type download struct {
	*Cache
	entry   *entry
	info    image.Info
	file    *os.File
	at      int64  // bytes in the file
	sum     string // SHA-256 of what is served
	resumed bool   // some of them are an earlier process's or download's
	sums    map[string]hash.Hash
}

// run fetches the whole image. A part whose download was cut off is gone on with; if the digest is wrong then, all is fetched again.
func (d *download) run(ctx context.Context) (err error) {
	for {
		if err := d.begin(); err != nil {
			return err
		}
		err := errors.Join(d.rest(ctx), d.file.Sync(), d.file.Close())
		if err != nil {
			return err
		}
		if err = d.check(); err == nil {
			return d.finish(ctx)
		}
		if gone := os.Remove(d.part(d.entry.key)); gone != nil {
			return gone
		}
		d.at = 0
		if !d.resumed {
			return err
		}
	}
}

// finish gives the whole image its name, after it has taken the raw disk out of it if that is wanted.
func (d *download) finish(ctx context.Context) error {
	name := d.part(d.entry.key)
	d.sum = d.digest("sha256")
	disk, err := d.disk(name)
	if err != nil {
		d.at = 0
		return errors.Join(err, os.Remove(name))
	}
	if disk > 0 {
		if name, err = d.convert(ctx, name, disk); err != nil {
			d.at = 0
			return err
		}
	}
	return os.Rename(name, d.whole(d.entry.key, d.sum))
}

// begin opens the file of the part, and reads what it has.
func (d *download) begin() (err error) {
	d.sums = map[string]hash.Hash{"sha256": sha256.New()}
	switch d.info.Algo {
	case "sha384":
		d.sums["sha384"] = sha512.New384()
	case "sha512":
		d.sums["sha512"] = sha512.New()
	case "md5":
		d.sums["md5"] = md5.New() //nolint:gosec // see above
	}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return err
	}
	if d.file, err = os.OpenFile(d.part(d.entry.key), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if d.at, err = io.Copy(d.all(), d.file); err != nil {
		return errors.Join(err, d.file.Close())
	}
	d.resumed = d.at > 0
	return nil
}

// all are the digests as a writer.
func (d *download) all() io.Writer {
	all := make([]io.Writer, 0, len(d.sums))
	for _, h := range d.sums {
		all = append(all, h)
	}
	return io.MultiWriter(all...)
}

func (d *download) digest(algorithm string) string {
	return hex.EncodeToString(d.sums[algorithm].Sum(nil))
}

// rest fetches what the file has not yet.
func (d *download) rest(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval = d.pause
	pause.Reset()
	for tries := 1; ; tries++ {
		before := d.at
		err := d.piece(ctx)
		if err == nil || final(err) || ctx.Err() != nil {
			return err
		}
		if d.at > before {
			tries = 1
			pause.Reset()
		}
		if tries >= fetchTries {
			return err
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
		}
	}
}

// final reports whether an error stays as it is: another try would not help.
func final(err error) bool {
	return !fault.Is(err, fault.Unreachable) && !errors.Is(err, errStalled)
}

// piece fetches from where the file ends, until the source's end or an error.
func (d *download) piece(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stallLimit, func() { cancel(errStalled) })
	defer watch.Stop()
	content, err := d.sources[d.info.Scheme()].open(ctx, d.info, d.at)
	if err != nil {
		return stalledOr(ctx, err)
	}
	defer func() { _ = content.Close() }() // it was only read
	if content.from != d.at {
		if err := d.rewind(); err != nil {
			return err
		}
	}
	d.entry.want.Store(content.whole)
	if err := d.makeRoom(d.entry, max(content.whole, d.at)); err != nil {
		return err
	}
	if err := d.copy(content, watch); err != nil {
		return stalledOr(ctx, err)
	}
	if content.whole > 0 && d.at != content.whole {
		return fault.CodedAs(fault.Unreachable, fault.ImageServerSlow, "the source ended after %d bytes of %d", d.at, content.whole)
	}
	return nil
}

// rewind begins anew: the source sends the whole.
func (d *download) rewind() error {
	for _, h := range d.sums {
		h.Reset()
	}
	d.at, d.resumed = 0, false
	return d.file.Truncate(0)
}

func stalledOr(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return fault.CodedAs(fault.Unreachable, fault.ImageServerSlow, "%w", errStalled)
	}
	return err
}

// copy writes what arrives to the file.
func (d *download) copy(content *content, watch *time.Timer) error {
	to := io.MultiWriter(io.NewOffsetWriter(d.file, d.at), d.all())
	counted := d.at
	b := make([]byte, 256<<10)
	for {
		n, err := content.Read(b)
		if d.abandoned(d.entry) {
			return errAbandoned
		}
		if n > 0 {
			watch.Reset(stallLimit)
			if content.whole > 0 && d.at+int64(n) > content.whole {
				return fault.Coded(fault.ImageInvalid, "the source sends more than the %d bytes that it names", content.whole)
			}
			if content.whole == 0 && d.at+int64(n) > counted+recountEvery {
				if err := d.makeRoom(d.entry, d.at+recountEvery); err != nil {
					return err
				}
				counted = d.at
			}
			if _, err := to.Write(b[:n]); err != nil {
				return writeError(err)
			}
			d.at += int64(n)
			d.entry.got.Store(d.at)
		}
		switch {
		case err == io.EOF: //nolint:errorlint // as io.Reader says
			return nil
		case err != nil:
			return content.words(err)
		}
	}
}

// writeError is the error of a file that can't be written.
func writeError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.Coded(fault.ImageCacheFull, "the disk of image_cache is full")
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err // without the name of the file
	}
	return fault.New(fault.Internal, "write the image: %w", err)
}

// check compares the digest of the whole.
func (d *download) check() error {
	if d.info.Size > 0 && d.at != d.info.Size {
		return fault.Coded(fault.ImageInvalid, "the image has %d bytes, and its source says %d", d.at, d.info.Size)
	}
	if got := d.digest(d.info.Algo); got != d.info.Checksum {
		return fault.CodedAs(fault.Invalid, fault.ImageDigestDiffers, "the %s digest of the image's %d bytes is %s and not %s", d.info.Algo, d.at, got, d.info.Checksum)
	}
	return nil
}
