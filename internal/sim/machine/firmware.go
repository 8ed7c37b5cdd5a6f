package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"go.temper.dev/temper/internal/sim/faults"
)

// firmware are the versions of what was updated, by component, and those that the next boot installs.
type firmware struct {
	Versions map[string]string `json:"versions,omitempty"`
	Pending  map[string]string `json:"pending,omitempty"`
}

func (f *firmware) set(component, version string) {
	if f.Versions == nil {
		f.Versions = map[string]string{}
	}
	f.Versions[component] = version
}

// apply installs what waits for a boot.
func (f *firmware) apply() {
	for component, version := range f.Pending {
		f.set(component, version)
	}
	f.Pending = nil
}

func (f firmware) clone() firmware {
	return firmware{maps.Clone(f.Versions), maps.Clone(f.Pending)}
}

// FirmwareImage is what an image of firmware has, as JSON: the simulated servers take no other.
type FirmwareImage struct {
	Component string `json:"component"` // BIOS, BMC, NIC
	Version   string `json:"version"`
}

// maxFirmware is how many bytes of an image of firmware are read.
const maxFirmware = 1 << 20

// ErrFirmware means that an update has failed. Errors wrap it with the cause.
var ErrFirmware = errors.New("the firmware was not updated")

// FirmwareVersion returns the version of a component's firmware that is installed.
func (s *Server) FirmwareVersion(component string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, updated := s.firmware.Versions[component]; updated {
		return v
	}
	return map[string]string{"BIOS": s.BIOSVersion, "BMC": s.BMCVersion, "NIC": "22.31.6"}[component]
}

// FetchFirmware reads the image at url and installs it.
func (s *Server) FetchFirmware(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), mediaTimeout)
	defer cancel()
	var image bytes.Buffer
	if _, err := s.env.fetch(ctx, url, &image); err != nil {
		return fmt.Errorf("%w: %w", ErrFirmware, err)
	}
	return s.InstallFirmware(&image)
}

// InstallFirmware installs an image. A BIOS is installed by the next boot. A BMC that has updated itself restarts.
func (s *Server) InstallFirmware(from io.Reader) error {
	var image FirmwareImage
	if err := json.NewDecoder(io.LimitReader(from, maxFirmware)).Decode(&image); err != nil || image.Version == "" {
		return fmt.Errorf("%w: this is no image of firmware", ErrFirmware)
	}
	if s.FirmwareVersion(image.Component) == "" {
		return fmt.Errorf("%w: the server has no component %q", ErrFirmware, image.Component)
	}
	if _, fails := s.Faults.Trigger(faults.FailedFirmware, faults.Event{}); fails {
		return fmt.Errorf("%w: the signature of the image is wrong", ErrFirmware)
	}
	_, ignores := s.Faults.Trigger(faults.IgnoredFirmware, faults.Event{})
	slow, away := s.Faults.Trigger(faults.SlowFirmware, faults.Event{})
	defer s.changed()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ignores:
	case image.Component == "BIOS":
		if s.firmware.Pending == nil {
			s.firmware.Pending = map[string]string{}
		}
		s.firmware.Pending["BIOS"] = image.Version
	default:
		s.firmware.set(image.Component, image.Version)
	}
	if image.Component == "BMC" {
		s.restartBMC()
		if away {
			s.bmcBackAt = time.Now().Add(time.Duration(slow.Delay))
		}
	}
	return nil
}
