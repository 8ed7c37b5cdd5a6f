package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"
)

// Reading is when something was read from a BMC.
type Reading struct {
	CreatedAt *time.Time `json:"created_at"` // for the first time
	UpdatedAt *time.Time `json:"updated_at"` // last; nil = once only
}

// At returns when it was read last.
func (r Reading) At() *time.Time { return cmp.Or(r.UpdatedAt, r.CreatedAt) }

// BIOSSetting is a setting of a server's firmware as it was read last, with what the BMC's registry says of it.
type BIOSSetting struct {
	Reading
	Name     string   `json:"name"`
	Value    *string  `json:"value"` // nil = the BMC does not show it
	Type     string   `json:"attribute_type"`
	Allowed  []string `json:"allowable_values"`
	ReadOnly *bool    `json:"read_only"`

	// Of a number and of a text; nil = the registry names none.
	LowerBound *int64 `json:"lower_bound"`
	UpperBound *int64 `json:"upper_bound"`
	MinLength  *int64 `json:"min_length"`
	MaxLength  *int64 `json:"max_length"`
}

// Firmware is a component of a server and the versions of its firmware as they were read last.
type Firmware struct {
	Reading
	Component string  `json:"component"`
	Initial   string  `json:"initial_version"`
	Current   string  `json:"current_version"`
	Flashed   *string `json:"last_version_flashed"` // nil = Temper has installed none
}

// BIOSSettings returns the settings of a node's firmware.
func (c *Client) BIOSSettings(ctx context.Context, ident string) ([]BIOSSetting, error) {
	var out struct {
		Settings []BIOSSetting `json:"bios"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident, "bios"), query: url.Values{"detail": {"true"}}}, &out)
	return out.Settings, err
}

// FirmwareVersions returns the versions of a node's firmware.
func (c *Client) FirmwareVersions(ctx context.Context, ident string) ([]Firmware, error) {
	var out struct {
		Components []Firmware `json:"firmware"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident, "firmware")}, &out)
	return out.Components, err
}
