package configdrive

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	diskfs "github.com/diskfs/go-diskfs/filesystem/iso9660"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/iso9660"
)

// label is the volume label by which cloud-init, Ignition and others find a config drive.
const label = "config-2"

// versions are the folders below openstack/, the same that Ironic writes.
var versions = []string{"2012-08-10", "latest"}

// layoutSize is more than an image needs in addition to its files.
const layoutSize = 256 << 10

// epoch is every time in an image, so that equal parts give equal images.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Build returns a config drive: base64 of a gzipped ISO 9660 image with Rock Ridge and Joliet
// names. Equal input gives equal output on one machine. Build works in a temporary folder that
// only this user can read, and removes it.
func Build(p Parts, nodeUUID, nodeName string) (text string, err error) {
	files, err := p.files(nodeUUID, nodeName)
	if err != nil {
		return "", err
	}
	work, err := os.MkdirTemp("", "configdrive")
	if err != nil {
		return "", fmt.Errorf("build config drive: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	image, err := buildISO(work, files)
	if err != nil {
		return "", fmt.Errorf("build config drive of node %s: %w", nodeUUID, err)
	}
	text, err = compress(image, MaxSize)
	if err != nil {
		return "", fmt.Errorf("build config drive of node %s: %w", nodeUUID, err)
	}
	return text, nil
}

// compress returns base64 of the gzipped image, or an error if that has more than limit bytes.
func compress(image []byte, limit int) (string, error) {
	var out bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &out)
	z := gzip.NewWriter(encoder)
	if _, err := z.Write(image); err != nil {
		return "", err
	}
	if err := errors.Join(z.Close(), encoder.Close()); err != nil {
		return "", err
	}
	if out.Len() > limit {
		return "", fault.New(fault.TooLarge, "it would be larger than %d bytes", limit)
	}
	return out.String(), nil
}

// buildISO writes the files below work and builds the image from them.
func buildISO(work string, files map[string][]byte) ([]byte, error) {
	root := filepath.Join(work, "root")
	for _, version := range versions {
		dir := filepath.Join(root, "openstack", version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				return nil, err
			}
		}
	}
	if err := setTimes(root); err != nil {
		return nil, err
	}
	target := filepath.Join(work, "image")
	f, err := os.OpenFile(target, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	fs, err := diskfs.Create(file.New(f, false), 0, 0, iso9660.SectorSize, root)
	if err != nil {
		return nil, err
	}
	if err := fs.Finalize(diskfs.FinalizeOptions{RockRidge: true, Joliet: true, VolumeIdentifier: label}); err != nil {
		return nil, err
	}
	image, err := os.ReadFile(target)
	if err != nil {
		return nil, err
	}
	if rest := len(image) % iso9660.SectorSize; rest != 0 {
		image = append(image, make([]byte, iso9660.SectorSize-rest)...)
	}
	head, err := iso9660.HeadSize(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	iso9660.RemoveTraces(image[:head], jolietDescriptor)
	linkJoliet(image)
	return image, nil
}

// setTimes gives every file and folder the same modification time.
func setTimes(root string) error {
	var all []string
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		all = append(all, p)
		return err
	})
	if err != nil {
		return err
	}
	slices.Reverse(all) // files before their folder, because they change the folder's time
	for _, p := range all {
		if err := os.Chtimes(p, epoch, epoch); err != nil {
			return err
		}
	}
	return nil
}
