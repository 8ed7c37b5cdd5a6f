package bmc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
)

// FirmwareControl reads and updates firmware.
type FirmwareControl interface {
	// Firmware reads the versions of the components that can be told apart: bios, bmc, nic:ID of each network adapter.
	Firmware(ctx context.Context) ([]FirmwareVersion, error)
	// UpdateFirmware has the BMC install an image, which it fetches itself or gets with the request. Each call begins another update, so the caller sends it at
	// most once. It returns the path of the BMC's task, "" if the BMC names none. If the answer is lost, it returns fault.Unreachable.
	UpdateFirmware(ctx context.Context, image FirmwareImage) (task string, err error)
}

// FirmwareImage is an image of firmware.
type FirmwareImage struct {
	URL string // from which the BMC fetches it
	// Open fetches it for a BMC that wants it with the request; nil = it can't be fetched here.
	Open func(ctx context.Context) (FirmwareFile, error)
	// Checked says that Open compares the image with a checksum: a BMC that takes images with the request gets it that way.
	Checked bool
}

// FirmwareFile is an image that was fetched.
type FirmwareFile interface {
	io.ReadSeeker
	io.Closer
	Size() int64
}

// FirmwareVersion is the version of a component's firmware, by the names that Ironic has for components.
type FirmwareVersion struct{ Component, Version string }

// NameUpdateFirmware is the name of the request to install the image at url, which may contain secrets.
func NameUpdateFirmware(url string) string {
	sum := sha256.Sum256([]byte(url))
	return fmt.Sprintf("%s%x", nameUpdate, sum[:6])
}

const nameUpdate = "update firmware with the image "
