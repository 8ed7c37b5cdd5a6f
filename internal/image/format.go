package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/fault"
)

// containers are formats of disk images that the agent does not convert. A server can't boot
// from them if they are written to its disk as they are.
var containers = []string{"vhd", "vhdx", "vmdk", "vdi", "qed"}

// compressions maps compression formats to their first bytes.
var compressions = map[string]string{"gzip": "\x1f\x8b", "xz": "\xfd7zXZ\x00", "bzip2": "BZh", "zstd": "\x28\xb5\x2f\xfd"}

// sizeTimeout is how long Detect may take for an image whose format is given, so that only its size is to be learned.
const sizeTimeout = 3 * time.Second

// Detect sets the size of an image, and its format if none is given. The agent refuses to
// write a raw image unless its format is given as raw (permitted_image_formats).
// Detect reads the first bytes of the image in one request. If that fails, the size is not known, a
// format stays empty and the agent detects it, because the agent may reach a server
// that this process can't. It returns fault.Invalid for a format that can't be deployed.
func (r *Resolver) Detect(ctx context.Context, i Info) (Info, error) {
	within := ctx
	if i.Format != "" {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, sizeTimeout)
		defer cancel()
	}
	first, length, err := r.head(within, i)
	if err != nil {
		return i, ctx.Err()
	}
	return i.detected(first, length)
}

// detected returns i with what the first bytes of the image and its length (0 = not known) say: its size, and its format if none
// is given.
func (i Info) detected(first []byte, length int64) (Info, error) {
	if i.Format == "" {
		format, err := i.formatOf(first)
		if err != nil {
			return i, err
		}
		i.Format = format
	}
	i.Size = length
	if i.Format == agent.FormatQCOW2 {
		i.Size = virtualSize(first)
	}
	return i, nil
}

// formatOf returns the format of an image that begins with these bytes. It returns fault.Invalid
// for one that can't be deployed.
func (i Info) formatOf(first []byte) (string, error) {
	formats := agent.DetectFormats(first)
	for _, f := range containers {
		if slices.Contains(formats, f) {
			return "", i.formatError(f)
		}
	}
	for name, magic := range compressions {
		if bytes.HasPrefix(first, []byte(magic)) {
			return "", i.formatError(name)
		}
	}
	if slices.Contains(formats, agent.FormatQCOW2) {
		return agent.FormatQCOW2, nil
	}
	return agent.FormatRaw, nil
}

func (i Info) formatError(format string) error {
	return fault.Coded(fault.ImageFormatWrong, "it is a %s image, and only raw and qcow2 images can be deployed: "+
		"convert it, or set image_disk_format to raw to write it as it is; image %s", format, quotedURL(i.Source))
}

// head reads the first agent.FormatBytes of the image, and how long it is (0 = not known). The
// server may ignore the range, and the image may be shorter. Of a raw image it reads only the length.
func (r *Resolver) head(ctx context.Context, i Info) ([]byte, int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.Source, nil)
	if err != nil {
		return nil, 0, fault.Coded(fault.ImageInvalid, "not a valid URL")
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", agent.FormatBytes-1))
	if i.Authorization != "" {
		req.Header.Set("Authorization", i.Authorization)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, 0, RequestError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusNotFound, http.StatusGone:
		return nil, 0, fault.CodedAs(fault.Invalid, fault.ImageUnreachable, "the server answered %d: it has no such image", resp.StatusCode)
	default:
		return nil, 0, fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "the server answered %d", resp.StatusCode)
	}
	if i.Format == agent.FormatRaw {
		return nil, sizeOf(resp), nil
	}
	first, err := io.ReadAll(io.LimitReader(resp.Body, agent.FormatBytes))
	if err != nil {
		return nil, 0, RequestError(ctx, err)
	}
	return first, sizeOf(resp), nil
}
