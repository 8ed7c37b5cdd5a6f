//go:build linux

package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent/efiboot"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/agent/imagewriter"
	"go.temper.dev/temper/internal/agent/softraid"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/rootdevice"
)

// raid returns the software RAID of the machine's disks. Disks that the agent was given are no part of such.
func (a *Agent) raid() (h softraid.Host, possible bool) {
	return softraid.Host{Root: a.Machine.Root, Mdadm: a.Mdadm}, a.Disks == nil && a.Machine.Root != ""
}

// createRAID is raid.create_configuration: it makes the arrays of the node's target_raid_config.
func createRAID(ctx context.Context, a *Agent, _ *command, in stepInput) (any, error) {
	return a.makeRAID(ctx, in.Target)
}

// applyRAID is raid.apply_configuration of a deploy.
func applyRAID(ctx context.Context, a *Agent, c *command, in stepInput) (any, error) {
	var p struct {
		Config map[string]any `json:"raid_config"`
		Delete bool           `json:"delete_existing"`
	}
	if err := jsonvalue.Unmarshal(in.Args, &p); err != nil {
		return nil, failure.BadParams("%s", err)
	}
	if p.Delete {
		if _, err := deleteRAID(ctx, a, c, in); err != nil {
			return nil, err
		}
	}
	return a.makeRAID(ctx, p.Config)
}

// deleteRAID is raid.delete_configuration.
func deleteRAID(ctx context.Context, a *Agent, _ *command, _ stepInput) (any, error) {
	h, possible := a.raid()
	if !possible {
		return nil, noRAID()
	}
	if err := h.Delete(ctx); err != nil {
		return nil, failure.RAID("%s", err)
	}
	return nil, nil
}

func noRAID() error {
	return failure.RAID("software RAID is made of all disks of the machine, and this agent was given some")
}

func (a *Agent) makeRAID(ctx context.Context, config map[string]any) (any, error) {
	h, possible := a.raid()
	if !possible {
		return nil, noRAID()
	}
	arrays, err := h.Make(ctx, config, a.candidates())
	if err != nil {
		return nil, failure.RAID("%s", err)
	}
	return map[string]any{"logical_disks": softraid.Described(arrays)}, nil
}

// keepingRAID lets a step work on the disks behind software RAID, whose arrays are stopped meanwhile. What it has wiped is made again as the
// node's configuration says, so that the next instance gets the arrays that raid_config has.
func keepingRAID(do doing) doing {
	return func(ctx context.Context, a *Agent, c *command, in stepInput) (any, error) {
		h, possible := a.raid()
		if !possible {
			return do(ctx, a, c, in)
		}
		if err := h.Stop(ctx); err != nil {
			return nil, failure.RAID("%s", err)
		}
		out, err := do(ctx, a, c, in)
		if err == nil && len(in.Have.Disks) > 0 && softraid.Asks(in.Target) {
			_, err = a.makeRAID(ctx, in.Target)
		}
		return out, err
	}
}

// places returns what an image may be written on: the arrays, and the disks that are in none.
func (a *Agent) places(ctx context.Context) (disks []rootdevice.Disk, arrays []softraid.Array, err error) {
	disks = a.candidates()
	h, possible := a.raid()
	if !possible {
		return disks, nil, nil
	}
	if arrays, err = h.Arrays(ctx); err != nil {
		return nil, nil, failure.RAID("%s", err)
	}
	for i, array := range arrays {
		disks = slices.DeleteFunc(disks, func(d rootdevice.Disk) bool {
			return slices.ContainsFunc(array.Members, func(m softraid.Part) bool { return m.Disk == d.Name })
		})
		disks = slices.Insert(disks, i, rootdevice.Disk{Name: array.Name, Size: array.Size, Facts: map[string]string{
			"model": "", "vendor": "", "serial": "", "wwn": "", "wwn_with_extension": "", "wwn_vendor_extension": "", "rotational": "", "hctl": "", "by_path": "", "tran": "",
		}})
	}
	return disks, arrays, nil
}

// bootPartitions returns the EFI system partitions from which UEFI starts the image on disk: its own, or, because firmware can't read an
// array, a copy on each disk of the array.
func (a *Agent) bootPartitions(ctx context.Context, path string, disk *imagewriter.Target) ([]efiboot.Partition, error) {
	own, found := disk.ESP()
	if !found {
		return nil, nil
	}
	_, arrays, err := a.places(ctx)
	if err != nil {
		return nil, err
	}
	h, _ := a.raid()
	var out []efiboot.Partition
	for _, array := range arrays {
		if array.Name != path {
			continue
		}
		for _, p := range h.ESPs(array) {
			copied, err := a.copyESP(disk, p)
			if err != nil {
				return nil, failure.Deployment("Installing the boot loader to device %s failed: %s", p.Name, err)
			}
			out = append(out, copied)
		}
	}
	if out == nil {
		out = []efiboot.Partition{own}
	}
	return out, nil
}

func (a *Agent) copyESP(from *imagewriter.Target, p softraid.Part) (out efiboot.Partition, err error) {
	to, err := imagewriter.Open(filepath.Join(a.Machine.Root, p.Name))
	if err != nil {
		return out, err
	}
	if err := errors.Join(from.CopyESP(to), to.Close()); err != nil {
		return out, err
	}
	disk, err := imagewriter.OpenToRead(filepath.Join(a.Machine.Root, p.Disk))
	if err != nil {
		return out, err
	}
	out, _ = disk.ESP()
	a.Log.Info("the EFI system partition was copied", zap.String("to", p.Name))
	return out, disk.CloseRead()
}
