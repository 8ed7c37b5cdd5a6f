package redfish

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
)

type memory struct {
	ID                looseString `json:"Id"`
	DeviceLocator     looseString
	CapacityMiB       looseNumber
	MemoryDeviceType  looseString
	OperatingSpeedMHz looseNumber `json:"OperatingSpeedMhz"`
	Manufacturer      looseString
	PartNumber        looseString
	SerialNumber      looseString
	Status            loose[status]
}

// readMemory sets the memory modules, and the size of the memory if the summary did not have it.
func (in *inspection) readMemory(ctx context.Context) error {
	paths, err := in.tryMembers(ctx, bmc.PartMemory, in.sys.Memory)
	if err != nil {
		return err
	}
	var sum int64
	err = tryEach(ctx, in, bmc.PartMemory, paths, func(m memory) {
		if m.Status.v.absent() || m.CapacityMiB == 0 {
			return // an empty slot
		}
		sum += int64(m.CapacityMiB)
		in.inv.DIMMs = append(in.inv.DIMMs, bmc.DIMM{
			Slot: firstNonBlank(m.DeviceLocator.short(), m.ID.short()), MiB: int64(m.CapacityMiB), Type: m.MemoryDeviceType.short(),
			MHz: int(m.OperatingSpeedMHz), Manufacturer: m.Manufacturer.short(), PartNumber: m.PartNumber.short(), Serial: m.SerialNumber.short(),
		})
	})
	if in.inv.MemoryMiB == 0 {
		in.inv.MemoryMiB = sum
	}
	return err
}
