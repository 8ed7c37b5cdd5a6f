package agent

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Bounds of an agent's logs, in bytes: what is kept of one file, which is its end, how much of a file is unpacked to get there, and
// what is kept in all.
const (
	maxLogFile   = 256 << 10
	maxLogUnpack = 32 << 20
	MaxLogs      = 1 << 20
)

// Logs returns what the agent and the system that it runs in have logged since they booted, as one text, in which a line "==> FILE <=="
// begins each file. It may have secrets in it.
func (c *Client) Logs(ctx context.Context) (string, error) {
	r, err := c.Call(ctx, CollectLogs, nil)
	if err != nil {
		return "", err
	}
	var result struct {
		Logs string `json:"system_logs"` // base64 of a gzipped tar
	}
	if err := jsonvalue.Unmarshal(r.Result, &result); err != nil {
		return "", failed(fault.Unreachable, "%s on the agent: the answer can't be read", CollectLogs)
	}
	text, err := unpackLogs(base64.NewDecoder(base64.StdEncoding, strings.NewReader(result.Logs)))
	if c.target.Token != "" {
		text = strings.ReplaceAll(text, c.target.Token, Masked)
	}
	if err != nil {
		return text, failed(fault.Unreachable, "%s on the agent: %s", CollectLogs, c.oneLine(err.Error()))
	}
	return text, nil
}

// unpackLogs returns the files of a gzipped tar, as Logs does. What it could read before an error is good.
func unpackLogs(packed io.Reader) (string, error) {
	z, err := gzip.NewReader(packed)
	if err != nil {
		return "", fmt.Errorf("unpack the logs: %w", err)
	}
	files := tar.NewReader(io.LimitReader(z, maxLogUnpack))
	var out strings.Builder
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), fmt.Errorf("unpack the logs: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		end, err := lastOf(files, min(maxLogFile, MaxLogs-out.Len()))
		fmt.Fprintf(&out, "==> %s <==\n%s\n", path.Clean(h.Name), strings.TrimRight(storable(end), "\n"))
		if err != nil || out.Len() >= MaxLogs {
			return out.String(), err
		}
	}
}

// lastOf reads r to its end, and returns the last bytes.
func lastOf(r io.Reader, most int) (last []byte, err error) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		last = append(last, buf[:n]...)
		if over := len(last) - most; over > most { // now and then, so that each byte is moved once or twice
			last = append(last[:0], last[over:]...)
		}
		if err != nil {
			last = last[max(0, len(last)-most):]
			if errors.Is(err, io.EOF) {
				return last, nil
			}
			return last, err
		}
	}
}

// storable is text that PostgreSQL can store.
func storable(b []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "")
}
