// Package medium makes the CD from which one server boots its agent once: the bytes of an image that is the same for all servers,
// and a few files of it replaced while it is read. Nothing is stored for a server.
package medium

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.temper.dev/temper/internal/iso9660"
)

// Image is the image that is the same for all. It is safe for concurrent use.
type Image struct {
	file    *os.File
	size    int64
	changed time.Time
	places  map[string]iso9660.Place
	loaders map[string][]byte // the files of the boot loaders, as they are in the image
}

// Open opens an image that make ramdisk has built.
func Open(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the ramdisk: %w", err)
	}
	i := &Image{file: f, places: map[string]iso9660.Place{}, loaders: map[string][]byte{}}
	if err := i.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("the ramdisk %s can't be used: %w; build it with make ramdisk", path, err), f.Close())
	}
	return i, nil
}

func (i *Image) read() error {
	info, err := i.file.Stat()
	if err != nil {
		return err
	}
	i.size, i.changed = info.Size(), info.ModTime()
	for name, size := range sizes {
		p, err := iso9660.Find(i.file, name)
		if err != nil {
			return err
		}
		if p.Size != int64(size) {
			return fmt.Errorf("its file %s has %d bytes, and this version of Temper fills %d", name, p.Size, size)
		}
		i.places[name] = p
	}
	for _, name := range []string{grubFile, isolinuxFile} {
		b := make([]byte, i.places[name].Size)
		if _, err := i.file.ReadAt(b, i.places[name].Offset); err != nil {
			return fmt.Errorf("read its file %s: %w", name, err)
		}
		if !bytes.Contains(b, []byte(marker)) {
			return fmt.Errorf("its file %s has no place for parameters", name)
		}
		i.loaders[name] = bytes.TrimRight(b, "\n")
	}
	return nil
}

// Close closes the image. No medium of it can be read afterwards.
func (i *Image) Close() error { return i.file.Close() }

// Size is that of every medium, in bytes.
func (i *Image) Size() int64 { return i.size }

// Changed is when the file was changed last.
func (i *Image) Changed() time.Time { return i.changed }

// For returns the medium with c.
func (i *Image) For(c Contents) (*io.SectionReader, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := medium{image: i}
	for _, name := range []string{grubFile, isolinuxFile} {
		m.fill(name, append(bytes.Replace(i.loaders[name], []byte(marker), []byte(c.words()), 1), '\n'))
	}
	m.fill(parametersFile, c.parameters())
	m.fill(networkFile, c.Network)
	m.fill(caFile, c.CA)
	m.fill(tlsFile, c.tlsSettings())
	return io.NewSectionReader(m, 0, i.size), nil
}

// medium is an image with files that were replaced.
type medium struct {
	image    *Image
	replaced []part
}

// part is what stands at a place.
type part struct {
	at      int64
	content []byte
}

func (m *medium) fill(name string, content []byte) {
	m.replaced = append(m.replaced, part{m.image.places[name].Offset, padded(content, sizes[name])})
}

// ReadAt reads the image, and puts what was replaced over it.
func (m medium) ReadAt(b []byte, at int64) (int, error) {
	n, err := m.image.file.ReadAt(b, at)
	for _, p := range m.replaced {
		from, to := max(p.at, at), min(p.at+int64(len(p.content)), at+int64(n))
		if from < to {
			copy(b[from-at:to-at], p.content[from-p.at:])
		}
	}
	return n, err
}
