//go:build linux

package daemon

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.temper.dev/temper/internal/mask"
)

// driveLimit is the largest config drive, unpacked (64 MiB, as ironic-python-agent's).
const driveLimit = 64 << 20

// readConfigDrive returns a config drive that comes as base64 of gzip, or as the URL of such a text.
func (a *Agent) readConfigDrive(ctx context.Context, in string) ([]byte, error) {
	if strings.HasPrefix(in, "http://") || strings.HasPrefix(in, "https://") {
		text, err := a.fetchConfigDrive(ctx, in)
		if err != nil {
			return nil, err
		}
		in = text
	}
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(in), ""))
	if err != nil {
		return nil, errors.New("Config drive data is not base64 encoded")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompress config drive: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(z, driveLimit+1))
	if err != nil {
		return nil, fmt.Errorf("decompress config drive: %w", err)
	}
	if len(b) > driveLimit {
		return nil, errors.New("Config drive size exceeds maximum limit of 64MiB")
	}
	return b, nil
}

func (a *Agent) fetchConfigDrive(ctx context.Context, from string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	res, err := a.Images.Do(req)
	if err != nil {
		return "", errors.New(mask.URLs(err.Error()))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server of the configdrive answered %d", res.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, bodyLimit))
	return string(b), err
}
