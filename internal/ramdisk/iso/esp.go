package iso

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"sync"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat16"
)

// espSize is that of the file system for UEFI's boot loaders: they have 5 MB, and FAT16 needs more than 4.
const espSize = 8 << 20

// go-diskfs takes the time of files from this variable, which belongs to the whole process (reproducible-builds.org).
const clock = "SOURCE_DATE_EPOCH"

var clockLock sync.Mutex

// stopClock gives files of FAT file systems the same age until start is called.
func stopClock() (start func() error, err error) {
	clockLock.Lock()
	before, was := os.LookupEnv(clock)
	start = func() error {
		defer clockLock.Unlock()
		if was {
			return os.Setenv(clock, before)
		}
		return os.Unsetenv(clock)
	}
	if err := os.Setenv(clock, strconv.FormatInt(age.Unix(), 10)); err != nil {
		return nil, errors.Join(err, start())
	}
	return start, nil
}

// writeESP writes a FAT file system with files, by their paths, such as EFI/BOOT/BOOTX64.EFI.
func writeESP(name string, files []File) (err error) {
	start, err := stopClock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, start()) }()
	b, err := file.CreateFromPath(name, espSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	const sectorOfDisks = 512
	fs, err := fat16.Create(b, espSize, 0, sectorOfDisks, "TEMPER", true)
	if err != nil {
		return fmt.Errorf("make the file system for UEFI: %w", err)
	}
	for _, f := range files {
		content, err := f.read()
		if err != nil {
			return err
		}
		if err := fs.Mkdir("/" + path.Dir(f.Path)); err != nil {
			return fmt.Errorf("make the folder of %s for UEFI: %w", f.Path, err)
		}
		w, err := fs.OpenFile("/"+f.Path, os.O_CREATE|os.O_RDWR)
		if err != nil {
			return fmt.Errorf("make %s for UEFI: %w", f.Path, err)
		}
		_, err = w.Write(content)
		if err := errors.Join(err, w.Close()); err != nil {
			return fmt.Errorf("write %s for UEFI: %w", f.Path, err)
		}
	}
	return nil
}
