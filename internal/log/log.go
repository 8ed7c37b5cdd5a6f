// Package log creates the logger of a process. It writes a line for each event, as JSON for programs or as columns for
// people. Callers must not log secrets. Secrets in URLs are masked here, because libraries put whole URLs into their errors.
package log

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"go.temper.dev/temper/internal/mask"
)

// The formats.
const (
	JSON    = "json"
	Console = "console"
)

// New returns a logger that writes lines of at least level (debug, info, warn or error) to w. Each line has the fields
// role and name, unless they are empty.
func New(w io.Writer, level, format, role, name string) (*zap.Logger, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	c.EncodeDuration = zapcore.StringDurationEncoder
	var enc zapcore.Encoder
	switch format {
	case JSON:
		enc = zapcore.NewJSONEncoder(c)
	case Console:
		c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		c.EncodeLevel = zapcore.CapitalLevelEncoder
		enc = zapcore.NewConsoleEncoder(c)
	default:
		return nil, fmt.Errorf("log format %q is neither %s nor %s", format, JSON, Console)
	}
	l := zap.New(zapcore.NewCore(masking{enc}, zapcore.Lock(zapcore.AddSync(w)), least), zap.AddStacktrace(zapcore.DPanicLevel))
	if role != "" {
		l = l.With(zap.String("role", role))
	}
	if name != "" {
		l = l.With(zap.String("name", name))
	}
	return l, nil
}

// masking is an encoder that masks the secrets in URLs of each line.
type masking struct{ zapcore.Encoder }

// Clone implements zapcore.Encoder.
func (m masking) Clone() zapcore.Encoder { return masking{m.Encoder.Clone()} }

// EncodeEntry implements zapcore.Encoder. A masked JSON line stays valid, because a URL ends at the latest where its JSON
// string ends.
func (m masking) EncodeEntry(e zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	line, err := m.Encoder.EncodeEntry(e, fields)
	if err != nil {
		return nil, err
	}
	if text := line.String(); mask.URLs(text) != text {
		line.Reset()
		line.AppendString(mask.URLs(text))
	}
	return line, nil
}
