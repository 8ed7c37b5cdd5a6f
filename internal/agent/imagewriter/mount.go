//go:build linux

package imagewriter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
	"golang.org/x/sys/unix"
)

// unreplayed are the options that mount a file system without writing to it, although its journal may say so.
var unreplayed = map[string]string{"ext4": "noload", "xfs": "norecovery,nouuid", "btrfs": "rescue=nologreplay"}

// mount makes a file system readable. The kernel reads it, by a loop device, because the disk is open for this process alone. Where the
// kernel has none, as in many a container, a library reads ext4.
func (t *Target) mount() (image fs.FS, done func() error, err error) {
	kind := t.fileSystem().kind
	image, done, err = t.mountLoop(kind)
	if err == nil || kind != "ext4" {
		return image, done, err
	}
	read, byLibrary := ext4.Read(file.New(t.f, true), t.size, t.start, 512)
	if byLibrary != nil {
		return nil, nil, errors.Join(err, byLibrary)
	}
	return linked{read}, func() error { return nil }, nil
}

func (t *Target) mountLoop(kind string) (image fs.FS, done func() error, err error) {
	loop, err := t.attach()
	if err != nil {
		return nil, nil, fmt.Errorf("make a loop device: %w", err)
	}
	var undo []func() error
	defer func() {
		if err != nil {
			err = errors.Join(err, inReverse(undo))
		}
	}()
	undo = append(undo, loop.Close) // the device goes with its last user
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, func() error { return os.Remove(dir) })
	if err := unix.Mount(loop.Name(), dir, kind, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, unreplayed[kind]); err != nil {
		return nil, nil, fmt.Errorf("mount a file system of the type %s: %w", kind, err)
	}
	undo = append(undo, func() error { return unix.Unmount(dir, 0) })
	root, err := os.OpenRoot(dir) // links do not lead out of it
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, root.Close)
	return root.FS(), func() error { return inReverse(undo) }, nil
}

func inReverse(undo []func() error) (err error) {
	for i := len(undo) - 1; i >= 0; i-- {
		err = errors.Join(err, undo[i]())
	}
	return err
}

// loopControl is the number of the device /dev/loop-control, which a ramdisk may have to make. Whoever opens it has the kernel load its module.
const loopControl = 10<<8 | 237

// attach makes a loop device of the target, which can only be read, and which goes when nobody has it open any more.
func (t *Target) attach() (*os.File, error) {
	const control = "/dev/loop-control"
	if err := unix.Mknod(control, unix.S_IFCHR|0o600, loopControl); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	c, err := os.OpenFile(control, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing is written to it
	const tries = 5                  // another process may take the number
	for range tries {
		n, free := unix.IoctlRetInt(int(c.Fd()), unix.LOOP_CTL_GET_FREE)
		if free != nil {
			return nil, free
		}
		loop, opened := os.Open("/dev/loop" + strconv.Itoa(n))
		if opened != nil {
			return nil, opened
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{Fd: uint32(t.f.Fd()), Info: unix.LoopInfo64{ //nolint:gosec // a descriptor is small
			Offset: uint64(t.start), Sizelimit: uint64(t.size), Flags: unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR,
		}})
		if err == nil {
			return loop, nil
		}
		_ = loop.Close() // it is no loop device of ours
		if !errors.Is(err, unix.EBUSY) {
			return nil, err
		}
	}
	return nil, err
}

// linked reads an ext4 file system by a library. It follows links itself: the library follows one that leads to itself until the program's
// stack is full.
type linked struct{ *ext4.FileSystem }

const maxLinks = 10

// Open implements fs.FS.
func (l linked) Open(name string) (fs.File, error) {
	for range maxLinks {
		info, err := l.Stat(name)
		if err != nil {
			return nil, err
		}
		to, err := l.ReadLink(name)
		if err != nil {
			return l.open(name, info)
		}
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(name), to)
		}
		name = strings.TrimPrefix(path.Join("/", to), "/")
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("too many links")}
}

// open refuses a file with holes, in whose place the library returns other data.
func (l linked) open(name string, info fs.FileInfo) (fs.File, error) {
	const block = 512 // in which Blocks counts
	if stat, ok := info.Sys().(*ext4.StatT); ok && !info.IsDir() && int64(stat.Blocks)*block < info.Size() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("a file with holes can't be read here")}
	}
	return l.FileSystem.Open(name)
}

// ReadFile implements fs.ReadFileFS. The library fails for reads that do not begin with a block.
func (l linked) ReadFile(name string) ([]byte, error) {
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	var out []byte
	for buffer := make([]byte, 1<<20); len(out) <= maxLoader; {
		n, err := f.Read(buffer)
		out = append(out, buffer[:n]...)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.ErrUnexpectedEOF
		}
	}
	return nil, fmt.Errorf("%s has more than %d MiB", name, maxLoader>>20)
}

// maxLoader bounds a file that is read for the EFI system partition.
const maxLoader = 128 << 20

// Stat implements fs.StatFS.
func (l linked) Stat(name string) (fs.FileInfo, error) {
	info, err := l.FileSystem.Stat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info, nil
}
