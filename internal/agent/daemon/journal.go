//go:build linux

package daemon

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"slices"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// journalLines is how many lines of its log an agent keeps for collect_system_logs.
const journalLines = 2000

// journal has the last lines of the agent's log.
type journal struct {
	mu    sync.Mutex
	lines [][]byte
}

// tee is a zap option: the log goes to core and into the journal.
func (j *journal) tee(core zapcore.Core) zapcore.Core {
	return zapcore.NewTee(core, zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), j, zapcore.InfoLevel))
}

// Write keeps a line.
func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lines = append(j.lines, slices.Clone(line)); len(j.lines) > journalLines {
		j.lines = j.lines[1:]
	}
	return len(line), nil
}

// Sync has nothing to do.
func (j *journal) Sync() error { return nil }

// archive returns the lines as ironic-python-agent sends its logs: base64 of a gzipped tar.
func (j *journal) archive() string {
	j.mu.Lock()
	text := bytes.Join(j.lines, nil)
	j.mu.Unlock()
	var out bytes.Buffer
	// Writing to memory does not fail.
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	_ = t.WriteHeader(&tar.Header{Name: "journal", Mode: 0o644, Size: int64(len(text))})
	_, _ = t.Write(text)
	_ = t.Close()
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}
