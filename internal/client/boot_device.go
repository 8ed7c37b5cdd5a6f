package client

import (
	"context"
	"net/http"
)

// The verbs of Work that make one request to the BMC.
const (
	VerbSetBootDevice = "set_boot_device"
	VerbInjectNMI     = "inject_nmi"
	VerbRotate        = "rotate_bmc_password"
	VerbPassthru      = "vendor_passthru"
)

// BootDevice is what a server boots from, as its BMC tells it now.
type BootDevice struct {
	Device     string   `json:"boot_device"` // "" = nothing is set
	Persistent bool     `json:"persistent"`
	Supported  []string `json:"supported_boot_devices"`
}

// BootDevice reads the boot device of a node, and those that it supports, from its BMC.
func (c *Client) BootDevice(ctx context.Context, ident string) (BootDevice, error) {
	var out BootDevice
	path := nodePath(ident) + "/management/boot_device"
	if _, err := c.do(ctx, request{method: http.MethodGet, path: path}, &out); err != nil {
		return out, err
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: path + "/supported"}, &out)
	return out, err
}
