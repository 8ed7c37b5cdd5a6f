package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

// containers are formats that contain a disk and that the agent does not convert.
// Written to a disk as they are, they don't boot.
var containers = []string{"vhd", "vhdx", "vmdk", "vdi", "qed"}

// packed maps compression formats to their first bytes.
var packed = map[string]string{"gzip": "\x1f\x8b", "xz": "\xfd7zXZ\x00", "bzip2": "BZh", "zstd": "\x28\xb5\x2f\xfd"}

// Detect sets the format of an image for which none is given. The agent refuses to
// write a raw image unless its format is given as raw (permitted_image_formats).
// Detect reads the first bytes of the image in one request. If that fails, the
// format stays empty and the agent detects it, because the agent may reach a server
// that this process can't. It returns fault.Invalid for a format that can't be deployed.
func (r *Resolver) Detect(ctx context.Context, i Info) (Info, error) {
	if i.Format != "" {
		return i, nil
	}
	first, err := r.beginning(ctx, i)
	if err != nil {
		return i, ctx.Err()
	}
	formats := agent.DetectFormats(first)
	for _, f := range containers {
		if slices.Contains(formats, f) {
			return i, i.unfit(f)
		}
	}
	for name, magic := range packed {
		if bytes.HasPrefix(first, []byte(magic)) {
			return i, i.unfit(name)
		}
	}
	i.Format = agent.FormatRaw
	if slices.Contains(formats, agent.FormatQCOW2) {
		i.Format = agent.FormatQCOW2
	}
	return i, nil
}

func (i Info) unfit(format string) error {
	return fault.New(fault.Invalid, "image_source %s of node %s is a %s image; only raw and qcow2 images can be deployed: "+
		"convert it, or set image_disk_format to raw to write it as it is", shown(i.Source), i.NodeUUID, format)
}

// beginning reads the first agent.FormatBytes of the image. A server may ignore the
// range, and the image may be shorter.
func (r *Resolver) beginning(ctx context.Context, i Info) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.Source, nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "not a valid URL")
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", agent.FormatBytes-1))
	if i.Authorization != "" {
		req.Header.Set("Authorization", i.Authorization)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return nil, fault.New(fault.Unreachable, "the server answered %d", resp.StatusCode)
	}
	first, err := io.ReadAll(io.LimitReader(resp.Body, agent.FormatBytes))
	if err != nil {
		return nil, unanswered(ctx, err)
	}
	return first, nil
}
