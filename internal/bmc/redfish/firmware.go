package redfish

import (
	"context"
	"strings"

	"go.temper.dev/temper/internal/bmc"
)

type updateService struct {
	FirmwareInventory link
	Push              looseString `json:"HttpPushUri"`
	PushParts         looseString `json:"MultipartHttpPushUri"`
	Actions           loose[struct {
		Simple simpleUpdate `json:"#UpdateService.SimpleUpdate"`
	}]
}

type software struct {
	ID      looseString `json:"Id"`
	Name    looseString
	Version looseString
	Status  loose[status]
}

// readFirmware sets the versions of the firmware that is installed.
func (in *inspection) readFirmware(ctx context.Context) error {
	root, err := in.endpoint.serviceRoot(ctx)
	if err != nil {
		return err
	}
	var service updateService
	if ok, err := tryRead(ctx, in, bmc.PartFirmware, string(root.UpdateService), &service); !ok {
		return err
	}
	paths, err := in.tryMembers(ctx, bmc.PartFirmware, service.FirmwareInventory)
	if err != nil {
		return err
	}
	installed := paths[:0]
	for _, path := range paths {
		if !notInstalled(path) {
			installed = append(installed, path)
		}
	}
	return tryEach(ctx, in, bmc.PartFirmware, installed, func(s software) {
		if s.Version != "" && !s.Status.v.absent() {
			in.inv.Firmware = append(in.inv.Firmware, bmc.Firmware{Name: firstNonBlank(s.Name.short(), s.ID.short()), Version: s.Version.short()})
		}
	})
}

// notInstalled reports whether the firmware is one that could be installed: iDRACs list, beside Installed-..., what was
// installed before (Previous-...) and what has been uploaded (Available-...).
func notInstalled(path string) bool {
	id := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(id, "Previous-") || strings.HasPrefix(id, "Available-")
}
