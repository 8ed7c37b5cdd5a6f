//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/efiboot"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/rootdevice"
)

// candidates returns the disks on which an image may be written: those that were given, or those of the machine.
func (a *Agent) candidates() []rootdevice.Disk {
	if a.Disks == nil {
		return a.Machine.Candidates()
	}
	var out []rootdevice.Disk
	for _, path := range a.Disks {
		t, err := imagewriter.Open(path)
		if err != nil {
			continue // one that is being written, or is not there
		}
		out = append(out, rootdevice.Disk{Name: path, Size: t.Size(), Facts: map[string]string{}})
		_ = t.Close()
	}
	return out
}

// rootDisk returns the path of the disk on which an image is written.
func (a *Agent) rootDisk(ctx context.Context) (string, error) {
	a.mu.Lock()
	hints := rootdevice.Of(a.node.InstanceInfo, a.node.Properties)
	a.mu.Unlock()
	parsed, err := rootdevice.Parse(hints)
	if err != nil {
		return "", failure.NoDevice("No devices could be found using the root device hints: %s", err)
	}
	disks, arrays, err := a.places(ctx)
	if err != nil {
		return "", err
	}
	disk, found, _ := parsed.Choose(disks)
	switch {
	case parsed.Empty() && len(arrays) > 0:
		return arrays[0].Name, nil
	case found:
		return disk.Name, nil
	case parsed.Empty():
		return "", failure.NoDevice("No suitable device was found: there is no disk of 4 GiB or more that is not in use")
	}
	return "", failure.NoDevice("No suitable device was found for deployment using these hints: %s", parsed)
}

// prepareImage is standby.prepare_image, and the step write_image.
func prepareImage(ctx context.Context, a *Agent, c *command, params json.RawMessage) (any, error) {
	var p struct {
		Image       agent.ImageInfo `json:"image_info"`
		ConfigDrive string          `json:"configdrive"`
	}
	if err := jsonvalue.Unmarshal(params, &p); err != nil {
		return nil, failure.BadParams("%s", err)
	}
	what, err := a.imageOf(p.Image)
	if err != nil {
		return nil, err
	}
	// The node may have got other root device hints since the agent booted. If nobody answers, the ones that are known count.
	a.mu.Lock()
	api, node := a.api, a.node.UUID
	a.mu.Unlock()
	_, _ = a.lookUpOnce(ctx, api, node)
	path, err := a.rootDisk(ctx)
	if err != nil {
		return nil, err
	}
	var drive []byte
	if p.ConfigDrive != "" {
		if drive, err = a.readConfigDrive(ctx, p.ConfigDrive); err != nil {
			return nil, failure.Deployment("the config drive can't be read: %s", err)
		}
	}
	if p.Image.ImageType == agent.PartitionImage {
		layout, err := layoutOf(p.Image)
		if err != nil {
			return nil, err
		}
		return a.write(ctx, c, what, &layout, path, drive)
	}
	return a.write(ctx, c, what, nil, path, drive)
}

// layoutOf checks the partitions that an image of a file system asks for.
func layoutOf(i agent.ImageInfo) (l imagewriter.Layout, err error) {
	const mib = 1 << 20
	switch {
	case i.DeployBootMode != "" && i.DeployBootMode != "uefi":
		return l, failure.BadParams("image %s is one of a partition, which this agent starts by UEFI only, not by %s", i.ID, i.DeployBootMode)
	case i.DiskLabel != "" && i.DiskLabel != "gpt":
		return l, failure.BadParams("image %s is one of a partition, for which this agent writes the partition table gpt only, not %s", i.ID, i.DiskLabel)
	case i.PreserveEphemeral:
		return l, failure.BadParams("this agent does not preserve ephemeral partitions")
	case i.EphemeralMB > 0 && i.EphemeralFormat != "" && i.EphemeralFormat != "ext4":
		return l, failure.BadParams("this agent makes ephemeral partitions with ext4 only, not with %s", i.EphemeralFormat)
	case i.RootMB <= 0:
		return l, failure.BadParams("image %s is one of a partition, and 'root_mb' does not say how large that is", i.ID)
	}
	return imagewriter.Layout{Root: int64(i.RootMB) * mib, Swap: int64(i.SwapMB) * mib, Ephemeral: int64(i.EphemeralMB) * mib}, nil
}

// imageOf checks what is asked for.
func (a *Agent) imageOf(i agent.ImageInfo) (imagewriter.Image, error) {
	a.mu.Lock()
	formats, md5 := a.settings.PermittedImageFormats, a.settings.MD5Enabled
	a.mu.Unlock()
	out := imagewriter.Image{
		ID: i.ID, URLs: i.URLs, Format: string(i.DiskFormat), Permitted: formats, Algorithm: i.HashAlgo, Digest: i.HashValue,
		Authorization: i.Authorization, Proxies: i.Proxies, NoProxy: i.NoProxy,
	}
	if out.Digest == "" {
		out.Algorithm, out.Digest = image.AlgorithmOf(i.Checksum), i.Checksum
	}
	switch {
	case i.ID == "":
		return out, failure.BadParams("Image is missing 'id' field.")
	case len(i.URLs) == 0:
		return out, failure.BadParams("Image 'urls' must be a list with at least one element.")
	case out.Digest == "":
		return out, failure.BadParams("Image checksum is not available, either the 'checksum' field or the 'os_hash_algo' and " +
			"'os_hash_value' fields pair must be set for image verification.")
	case out.Algorithm == "":
		return out, failure.Any("Unable to verify image %s with available checksums: the checksum must be the digest itself", i.ID)
	case out.Algorithm == "md5" && !md5:
		return out, failure.Any("Unable to verify image %s: MD5 checksums are not permitted by the ramdisk's configuration", i.ID)
	}
	return out, nil
}

// write writes the image and its config drive; l is the layout of the disk if the image is one of a partition. It always writes the whole
// image: a disk is never trusted to have it.
func (a *Agent) write(ctx context.Context, c *command, i imagewriter.Image, l *imagewriter.Layout, path string, drive []byte) (result any, err error) {
	disk, err := imagewriter.Open(path)
	if err != nil {
		return nil, failure.NoDevice("%s", err)
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, disk.Close())
		}
	}()
	w := imagewriter.Writer{Client: a.Images, Scratch: a.Scratch, Progress: func(fraction float64, n int64) {
		a.tell(c, agent.Progress{Fraction: min(fraction, 1), Bytes: n})
	}}
	written, err := writeImageTo(ctx, w, i, l, disk)
	if err != nil {
		return nil, err
	}
	if len(drive) > 0 {
		if err := disk.WriteConfigDrive(drive); err != nil {
			return nil, failure.Deployment("Failed to create config drive on disk %s: %s", path, err)
		}
	}
	if l == nil { // the config drive may have changed the partition table
		written.RootUUID = agent.Text(disk.Identifier())
	}
	closed = true
	if err := disk.Close(); err != nil {
		return nil, failure.Deployment("writing image to device %s: %s", path, err)
	}
	a.mu.Lock()
	a.image = written
	a.mu.Unlock()
	return fmt.Sprintf("image (%s) written to device %s root_uuid=%s", i.ID, path, written.RootUUID), nil
}

func writeImageTo(ctx context.Context, w imagewriter.Writer, i imagewriter.Image, l *imagewriter.Layout, disk *imagewriter.Target) (agent.PartitionUUIDs, error) {
	if l != nil {
		return w.WritePartition(ctx, i, *l, disk)
	}
	return agent.PartitionUUIDs{}, w.Write(ctx, i, disk)
}

// isFileSystem reports whether a root UUID is one of a file system: that of a whole-disk image is the signature of its boot record.
func isFileSystem(root agent.Text) bool { return root != "" && !strings.HasPrefix(string(root), "0x") }

// installBootloader makes an image bootable. A whole-disk image has its boot loader: in the boot record, or as
// \EFI\BOOT\BOOTX64.EFI in the EFI system partition; for one of a partition it is copied into the EFI system partition. On a machine that
// UEFI has booted, that becomes the first that UEFI tries.
func installBootloader(ctx context.Context, a *Agent, _ *command, params json.RawMessage) (any, error) {
	var p agent.BootloaderParams
	if err := jsonvalue.Unmarshal(params, &p); err != nil {
		return nil, failure.BadParams("%s", err)
	}
	path, err := a.rootDisk(ctx)
	if err != nil {
		return nil, err
	}
	disk, err := imagewriter.Open(path)
	if err != nil {
		return nil, failure.NoDevice("%s", err)
	}
	id := disk.Identifier()
	if isFileSystem(p.RootUUID) {
		if p.TargetBootMode != "" && p.TargetBootMode != "uefi" {
			return nil, errors.Join(failure.Deployment("an image of a partition is started by UEFI only, not by %s", p.TargetBootMode), disk.Close())
		}
		id = string(p.RootUUID)
		switch err := disk.InstallLoaders(id); {
		case errors.Is(err, imagewriter.ErrNoRoot):
			id = ""
		case err != nil:
			return nil, errors.Join(failure.Deployment("Installing the boot loader to device %s failed: %s", path, err), disk.Close())
		}
	}
	var esps []efiboot.Partition
	if id == string(p.RootUUID) {
		esps, err = a.bootPartitions(ctx, path, disk)
	}
	if err := errors.Join(err, disk.Close()); err != nil {
		return nil, err
	}
	switch {
	case id == "" || id != string(p.RootUUID):
		return nil, failure.NoDevice("No partition with UUID %s found on device %s", p.RootUUID, path)
	case esps == nil && p.TargetBootMode == "uefi":
		a.Log.Warn("the image has no EFI system partition: firmware that boots with UEFI will not find it")
	case esps != nil:
		a.setBootOptions(esps)
	}
	return nil, nil
}

// setBootOptions makes UEFI start the image first. Firmware whose variables can't be written still finds the image by itself, as it finds
// a medium.
func (a *Agent) setBootOptions(esps []efiboot.Partition) {
	if a.Firmware == "" || esps[0].GUID == uuid.Nil {
		return
	}
	if _, err := os.Stat(a.Firmware); err != nil {
		return // a BIOS has booted the machine
	}
	removed, err := efiboot.Set(a.Firmware, esps...)
	if err != nil {
		a.Log.Warn("UEFI's boot options could not be changed", zap.Error(err))
		return
	}
	a.Log.Info("UEFI starts the image first", zap.String("program", efiboot.Program()), zap.Strings("options removed", removed))
}
