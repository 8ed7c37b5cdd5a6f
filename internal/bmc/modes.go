package bmc

import (
	"context"
	"fmt"

	"go.temper.dev/temper/internal/node"
)

// BootModes sets how the firmware of a server boots. Changes take effect with the next boot.
type BootModes interface {
	// BootMode reads the boot mode of the next boot, ModeUnknown if the BMC does not tell, and the modes that SetBootMode takes; none
	// are named if the BMC does not name them.
	BootMode(ctx context.Context) (m Mode, modes []Mode, err error)
	SetBootMode(ctx context.Context, m Mode) error
	// SecureBoot reads whether Secure Boot is on in the next boot; nil = the BMC does not tell.
	SecureBoot(ctx context.Context) (*bool, error)
	SetSecureBoot(ctx context.Context, on bool) error
}

// Indicators switches the lights of a server.
type Indicators interface {
	// ReadIndicators reads the lights and their states.
	ReadIndicators(ctx context.Context) ([]node.Indicator, error)
	// SetIndicator gives the light of that component and name a state. If there is none, the error is fault.NotFound.
	SetIndicator(ctx context.Context, component, name, state string) error
}

// MediaDrives are all virtual drives. VirtualMedia is about the one from which servers are booted.
type MediaDrives interface {
	// ReadDrives reads the drives of a kind: cd, dvd, usb or floppy, "" = of every kind.
	ReadDrives(ctx context.Context, kind string) ([]Media, []node.MediaDrive, error)
	// AttachMedia inserts the image at url into the first empty drive of a kind. If a drive of that kind has the image, it sends
	// nothing and succeeds. It ejects nothing: without an empty drive the error is fault.Refused. It returns fault.OutcomeUnknown as
	// InsertMedia does.
	AttachMedia(ctx context.Context, kind, url string) error
}

// NameBootMode is the name of the request to set the boot mode.
func NameBootMode(m Mode) string { return "boot mode " + string(m) }

// NameSecureBoot is the name of the request to switch Secure Boot.
func NameSecureBoot(on bool) string { return fmt.Sprintf("Secure Boot %t", on) }

// NameIndicator is the name of the request to switch a light.
func NameIndicator(component, name, state string) string {
	return "light " + name + " of the " + component + " " + state
}
