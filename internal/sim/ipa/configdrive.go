package ipa

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
)

// configDriveLimit is the largest config drive, unpacked (64 MiB, ironic-lib).
const configDriveLimit = 64 << 20

// writeConfigDrive decodes a config drive and writes it to the disk. in is base64 of gzip,
// or the URL of such a text.
func (a *Agent) writeConfigDrive(ctx context.Context, in, node, device string) error {
	b, err := a.readConfigDrive(ctx, in)
	if err == nil {
		err = a.s.Disk.WriteConfigDrive(b)
	}
	if err != nil {
		return failure.Deployment("Unexpected exception performing deploy step write_image. InstanceDeployFailure: "+
			"Failed to create config drive on disk %s for node %s. Error: %s", device, node, err)
	}
	return nil
}

func (a *Agent) readConfigDrive(ctx context.Context, in string) ([]byte, error) {
	if strings.HasPrefix(in, "http://") || strings.HasPrefix(in, "https://") {
		res, err := a.get(ctx, in, agent.ImageInfo{})
		if err != nil {
			return nil, fmt.Errorf("Can't download the configdrive content from %s: %w", in, err) //nolint:staticcheck // the agent's words
		}
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, bodyLimit))
		if err != nil {
			return nil, err
		}
		in = string(b)
	}
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(in), ""))
	if err != nil {
		return nil, errors.New("Config drive data is not base64 encoded")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("decompress config drive: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(z, configDriveLimit+1))
	if err != nil {
		return nil, fmt.Errorf("decompress config drive: %w", err)
	}
	if len(b) > configDriveLimit {
		return nil, errors.New("Config drive size exceeds maximum limit of 64MiB")
	}
	return b, nil
}
