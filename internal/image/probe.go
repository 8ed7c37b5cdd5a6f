package image

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Probe fetches what can be checked of an image before it is deployed: the checksum file, if there is one, and
// the first bytes of the image. It returns how many bytes the image needs on a disk, 0 if that is not known. Errors:
// fault.Invalid if the image can't be used or is not there, or if this process may not connect to the server of the checksum file,
// fault.Unreachable if the image's server does not answer, or if only the agent may connect to it.
func (r *Resolver) Probe(ctx context.Context, i Info) (int64, error) {
	i, err := r.Resolve(ctx, i)
	if err != nil {
		return 0, err
	}
	first, length, err := r.head(ctx, i)
	var refused *refusedAddress
	if errors.As(err, &refused) {
		return 0, fault.CodedAs(fault.Unreachable, fault.ImageUnreachable, "%w; fetch image_source %s", refused, quotedURL(i.Source))
	}
	if err != nil {
		return 0, fault.New(fault.KindOf(err), "%w; fetch image_source %s", err, quotedURL(i.Source))
	}
	i, err = i.detected(first, length)
	return i.Size, err
}

// virtualSize returns the size of the disk that a qcow2 image contains; 0 if its header is not whole.
// (QEMU, docs/interop/qcow2.rst: bytes 24 to 31)
func virtualSize(first []byte) int64 {
	if len(first) < 32 || string(first[:3]) != "QFI" {
		return 0
	}
	return max(int64(binary.BigEndian.Uint64(first[24:32])), 0) //nolint:gosec // a size that is too large is not known
}

// sizeOf returns how long the whole file is by the headers of an answer; 0 = they do not say.
func sizeOf(resp *http.Response) int64 {
	if resp.StatusCode == http.StatusOK {
		return max(resp.ContentLength, 0)
	}
	_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil || size < 0 {
		return 0
	}
	return size
}
