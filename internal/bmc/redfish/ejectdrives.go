package redfish

import (
	"context"
	"slices"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// driveKinds has Redfish's name of each kind of virtual drive (VirtualMedia, MediaTypes).
var driveKinds = map[string]schemas.VirtualMediaType{
	"cd": schemas.CDVirtualMediaType, "dvd": schemas.DVDVirtualMediaType, "usb": schemas.USBStickVirtualMediaType, "floppy": schemas.FloppyVirtualMediaType,
}

// EjectDrives ejects the media of all virtual drives of a kind. It reads all collections of virtual media: many BMCs list the same
// drives below the system and below its manager, where a drive is found empty the second time.
func (s *session) EjectDrives(ctx context.Context, kind string) error {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	return s.wrap("eject virtual media", s.ejectDrives(ctx, kind))
}

func (s *session) ejectDrives(ctx context.Context, kind string) error {
	want, known := driveKinds[kind]
	if kind != "" && !known {
		return fault.New(fault.Invalid, "%.40q is no kind of virtual drive", kind)
	}
	drives, ejected := 0, map[string]bool{}
	err := s.eachMedia(ctx, func(collection, _ string) (bool, error) {
		paths, err := s.members(ctx, collection)
		for _, path := range paths {
			if ejected[path] {
				continue
			}
			d, rerr := s.readDrive(ctx, path)
			if rerr != nil {
				if !skippable(rerr) {
					return false, rerr
				}
				err = rerr
				continue
			}
			if kind != "" && !slices.Contains(d.MediaTypes, want) {
				continue
			}
			drives++
			if !d.media().Inserted {
				continue
			}
			if rerr := s.sendEjectAs(ctx, bmc.NameEjectDrives(kind), d); rerr != nil {
				return false, rerr
			}
			ejected[path] = true
			s.noteEjected(path)
		}
		return false, err
	})
	if err == nil && drives == 0 {
		err = fault.New(fault.Invalid, "the system has no virtual drive of the kind %q", kind)
		if kind == "" {
			err = fault.Coded(fault.VirtualMediaRefused, "the system has no virtual drive")
		}
	}
	return err
}
