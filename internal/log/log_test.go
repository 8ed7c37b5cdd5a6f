package log_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/log"
)

func TestALineSaysWhichNodeOperationAndWorkflow(t *testing.T) {
	var out bytes.Buffer
	l, err := log.New(&out, "info", log.JSON, "conductor", "conductor-1")
	require.NoError(t, err)
	l.Debug("nobody wants this")
	l.Info("step begins", zap.String("node", "n-1"), zap.Int64("operation", 7), zap.String("workflow", "node/n-1/deploy/7"))

	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), "one line and no more: %s", out.String())
	require.NotEmpty(t, line["ts"])
	delete(line, "ts")
	require.Equal(t, map[string]any{
		"level": "info", "msg": "step begins", "role": "conductor", "name": "conductor-1",
		"node": "n-1", "operation": float64(7), "workflow": "node/n-1/deploy/7",
	}, line)
}

func TestSecretsInURLsAreMasked(t *testing.T) {
	for _, format := range []string{log.JSON, log.Console} {
		var out bytes.Buffer
		l, err := log.New(&out, "info", format, "conductor", "c")
		require.NoError(t, err)
		failed := &url.Error{Op: "Get", URL: "http://u:SECRET@images/disk?sig=SECRET&x=SECRET", Err: errors.New("refused")}
		l = l.With(zap.String("from", "https://u:SECRET@h/?a=SECRET"))
		l.Info("fetch http://u:SECRET@h/", zap.Error(failed), zap.Any("more", map[string]any{"url": "http://h/?sig=SECRET\"x"}), zap.String("last", "here"))
		require.NotContains(t, out.String(), "SECRET")
		require.Contains(t, out.String(), "here")
		if format == log.JSON {
			require.True(t, json.Valid(out.Bytes()), out.String())
		}
	}
}

func TestConsoleLinesAreForPeople(t *testing.T) {
	var out bytes.Buffer
	l, err := log.New(&out, "warn", log.Console, "api", "")
	require.NoError(t, err)
	l.Warn("slow")
	require.Regexp(t, `^\d\d:\d\d:\d\d\.\d+\tWARN\tslow\t\{"role": "api"\}\n$`, out.String())
}

func TestUnknownLevelsAndFormatsAreRefused(t *testing.T) {
	_, err := log.New(&bytes.Buffer{}, "loud", log.JSON, "", "")
	require.ErrorContains(t, err, "loud")
	_, err = log.New(&bytes.Buffer{}, "info", "xml", "", "")
	require.ErrorContains(t, err, "xml")
}
