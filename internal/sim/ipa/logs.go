package ipa

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
)

// logs returns the agent's log as the real agent sends it: base64 of a gzipped tar.
func (a *Agent) logs() string {
	a.mu.Lock()
	text := strings.Join(a.journal, "\n") + "\n"
	a.mu.Unlock()
	var out bytes.Buffer
	// Writing to memory does not fail.
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	_ = t.WriteHeader(&tar.Header{Name: "journal", Mode: 0o644, Size: int64(len(text))})
	_, _ = t.Write([]byte(text))
	_ = t.Close()
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
