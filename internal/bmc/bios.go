package bmc

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"go.temper.dev/temper/internal/node"
)

// BIOSControl reads and changes the settings of a server's firmware.
type BIOSControl interface {
	// BIOS reads the settings, and which of them the next boot changes.
	BIOS(ctx context.Context) (BIOS, error)
	// BIOSRegistry reads what the BMC says of its settings, by their names. The registry is empty if the BMC has none of that name.
	BIOSRegistry(ctx context.Context, name string) (map[string]node.BIOSSetting, error)
	// SetBIOS has the next boot change these settings. If the BMC refuses one of them, the error (fault.Refused) says which one, and
	// nothing is changed.
	SetBIOS(ctx context.Context, values map[string]any) error
	// ResetBIOS has the next boot set all settings to the maker's defaults.
	ResetBIOS(ctx context.Context) error
}

// BIOS are the settings of a server's firmware. A value is a string, a bool, a json.Number, or nil where the BMC does not show it.
type BIOS struct {
	Registry string
	Values   map[string]any
	Pending  map[string]any // those that the next boot changes, as far as the BMC shows them
	Messages []string       // what the BMC says of the settings that it applied last, if it could not apply all of them
}

// NameResetBIOS is the name of the request to set all BIOS settings to their defaults.
const NameResetBIOS = "reset the BIOS settings"

// NameSetBIOS is the name of the request to change BIOS settings, of which values may be secret.
func NameSetBIOS(values map[string]any) string {
	text, err := json.Marshal(values) // in the order of the names
	if err != nil {
		return "set BIOS settings"
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf("set BIOS settings %x", sum[:6])
}
