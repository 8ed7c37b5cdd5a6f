package log_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/log"
)

func TestALineSaysWhichNodeOperationAndWorkflow(t *testing.T) {
	var out bytes.Buffer
	l, err := log.New(&out, "info", log.JSON, "conductor", "conductor-1")
	require.NoError(t, err)
	l.Debug("nobody wants this")
	l.Info("step begins", log.Node("n-1"), log.Operation(7), log.Workflow("node/n-1/deploy/7"))

	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), "one line and no more: %s", out.String())
	require.NotEmpty(t, line["ts"])
	delete(line, "ts")
	require.Equal(t, map[string]any{
		"level": "info", "msg": "step begins", "role": "conductor", "name": "conductor-1",
		"node": "n-1", "operation": float64(7), "workflow": "node/n-1/deploy/7",
	}, line)
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
