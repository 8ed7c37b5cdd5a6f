package worker

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
)

// The limits of an image of firmware that a conductor fetches.
const (
	maxFirmware     = 1 << 30 // bytes
	firmwareTimeout = 10 * time.Minute
	firmwareAnswer  = 30 * time.Second // until the answer begins
)

// Firmware returns a function that fetches an image of firmware into a file without a name, which is gone when it is closed. checksum is one
// of SHA-256 or SHA-512; "" = the image is not checked.
func Firmware(r dial.Reach) func(ctx context.Context, url, checksum string) (bmc.FirmwareFile, error) {
	return fetchFirmware(r, maxFirmware)
}

func fetchFirmware(r dial.Reach, most int64) func(ctx context.Context, url, checksum string) (bmc.FirmwareFile, error) {
	client := &http.Client{Transport: dial.Limited(dial.NewTransport(r, firmwareAnswer), most), Timeout: firmwareTimeout}
	return func(ctx context.Context, url, checksum string) (bmc.FirmwareFile, error) {
		file, err := os.CreateTemp("", "temper-firmware-")
		if err != nil {
			return nil, fault.New(fault.Internal, "make a file for an image of firmware: %w", err)
		}
		_ = os.Remove(file.Name()) // it lasts as long as it is open
		f := &firmwareFile{File: file}
		if err := f.fill(ctx, client, url, checksum); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("%w; fetch the image of firmware %s", err, mask.URLs(url))
		}
		return f, nil
	}
}

type firmwareFile struct {
	*os.File
	size int64
}

// Size implements bmc.FirmwareFile.
func (f *firmwareFile) Size() int64 { return f.size }

func (f *firmwareFile) fill(ctx context.Context, client *http.Client, url, checksum string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fault.Coded(fault.FirmwareImageBad, "the URL is none")
	}
	answer, err := client.Do(req)
	if err != nil {
		return fault.Coded(fault.FirmwareImageBad, "%s", fault.NetworkWords(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fault.Coded(fault.FirmwareImageBad, "its server answers %s", answer.Status)
	}
	sum := sha256.New()
	if len(checksum) == hex.EncodedLen(sha512.Size) {
		sum = sha512.New()
	}
	if f.size, err = io.Copy(io.MultiWriter(f.File, sum), answer.Body); err != nil {
		return fault.Coded(fault.FirmwareImageBad, "%s", fault.NetworkWords(err))
	}
	if have := hex.EncodeToString(sum.Sum(nil)); checksum != "" && have != checksum {
		return fault.Coded(fault.FirmwareImageBad, "its checksum is %s and not %s", have, checksum)
	}
	return nil
}
