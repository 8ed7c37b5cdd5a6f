// Package log makes the logger of a process: one line an event, JSON for machines or columns for people. It never sees
// secrets: whoever logs leaves them out.
package log

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// The formats.
const (
	JSON    = "json"
	Console = "console"
)

// New makes a logger that writes lines of at least level (debug, info, warn or error) to w; name and role stand in
// each of them where they are not empty.
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
	l := zap.New(zapcore.NewCore(enc, zapcore.Lock(zapcore.AddSync(w)), least), zap.AddStacktrace(zapcore.DPanicLevel))
	if role != "" {
		l = l.With(zap.String("role", role))
	}
	if name != "" {
		l = l.With(zap.String("name", name))
	}
	return l, nil
}

// Node is the field that says which node a line is about; a uuid.
func Node(uuid string) zap.Field { return zap.String("node", uuid) }

// Operation is the field that says which operation a line is about.
func Operation(id int64) zap.Field { return zap.Int64("operation", id) }

// Workflow is the field that says which workflow a line is about.
func Workflow(id string) zap.Field { return zap.String("workflow", id) }
