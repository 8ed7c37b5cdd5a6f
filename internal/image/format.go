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

// containers are formats of disk images that the agent does not convert. A server can't boot
// from them if they are written to its disk as they are.
var containers = []string{"vhd", "vhdx", "vmdk", "vdi", "qed"}

// compressions maps compression formats to their first bytes.
var compressions = map[string]string{"gzip": "\x1f\x8b", "xz": "\xfd7zXZ\x00", "bzip2": "BZh", "zstd": "\x28\xb5\x2f\xfd"}

// Detect sets the format of an image for which none is given. The agent refuses to
// write a raw image unless its format is given as raw (permitted_image_formats).
// Detect reads the first bytes of the image in one request. If that fails, the
// format stays empty and the agent detects it, because the agent may reach a server
// that this process can't. It returns fault.Invalid for a format that can't be deployed.
func (r *Resolver) Detect(ctx context.Context, i Info) (Info, error) {
	if i.Format != "" {
		return i, nil
	}
	first, err := r.firstBytes(ctx, i)
	if err != nil {
		return i, ctx.Err()
	}
	formats := agent.DetectFormats(first)
	for _, f := range containers {
		if slices.Contains(formats, f) {
			return i, i.formatError(f)
		}
	}
	for name, magic := range compressions {
		if bytes.HasPrefix(first, []byte(magic)) {
			return i, i.formatError(name)
		}
	}
	i.Format = agent.FormatRaw
	if slices.Contains(formats, agent.FormatQCOW2) {
		i.Format = agent.FormatQCOW2
	}
	return i, nil
}

func (i Info) formatError(format string) error {
	return fault.New(fault.Invalid, "image_source %s of node %s is a %s image; only raw and qcow2 images can be deployed: "+
		"convert it, or set image_disk_format to raw to write it as it is", quotedURL(i.Source), i.NodeUUID, format)
}

// firstBytes reads the first agent.FormatBytes of the image. The server may ignore the range,
// and the image may be shorter.
func (r *Resolver) firstBytes(ctx context.Context, i Info) ([]byte, error) {
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
		return nil, requestError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return nil, fault.New(fault.Unreachable, "the server answered %d", resp.StatusCode)
	}
	first, err := io.ReadAll(io.LimitReader(resp.Body, agent.FormatBytes))
	if err != nil {
		return nil, requestError(ctx, err)
	}
	return first, nil
}
