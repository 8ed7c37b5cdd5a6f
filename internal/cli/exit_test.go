package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/clitest"
	"go.temper.dev/temper/internal/cli/exit"
)

// Scripts rely on these.
func TestExitCodes(t *testing.T) {
	held := func() map[string]any {
		return clitest.With(clitest.Operation("7", "deploy", "holding", "deploy.write_image failed"), "choices", []string{"retry", "abort"})
	}
	for name, c := range map[string]struct {
		args string
		ops  map[string][]map[string]any
		code int
		says string
	}{
		"done":        {"operation watch 7", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "ended:succeeded")}}, 0, ""},
		"failed":      {"operation watch 7", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "ended:failed")}}, exit.CodeFailed, "failed"},
		"held":        {"operation watch 7", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running"), held()}}, exit.CodeHeld, "operation 7 (deploy) holds at deploy.write_image; temper node why n1 says what mends it; then decide: temper operation retry 7, or temper operation abort 7"},
		"held, too":   {"node deploy n1 --wait 1m", map[string][]map[string]any{"7": {held()}}, exit.CodeHeld, "holds at"},
		"a hold step": {"node deploy n1 --watch", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "holding", "deploy.hold waiting")}}, exit.CodeHeld, "temper node unhold"},
		"not held: it is to end": {
			"operation cancel 7 --wait 1m", map[string][]map[string]any{"7": {clitest.With(held(), "asked", "cancel"), clitest.Operation("7", "deploy", "ended:cancelled")}}, 0, "",
		},
		"not held: it goes on": {
			"operation watch 7", map[string][]map[string]any{"7": {clitest.With(held(), "asked", "unhold"), clitest.Operation("7", "deploy", "ended:succeeded")}}, 0, "",
		},
		"out of sight":                {"node deploy n1 --wait 1m", nil, exit.CodeLost, "lost sight of operation 7"},
		"out of time":                 {"operation watch 7 --wait 30ms", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running")}}, exit.CodeTimeout, "has not ended within"},
		"out of time, with --timeout": {"node deploy n1 --watch --timeout 30ms", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running")}}, exit.CodeTimeout, "has not ended within 30ms"},
		"the shorter time counts":     {"operation watch 7 --wait 30ms --timeout 1h", map[string][]map[string]any{"7": {clitest.Operation("7", "deploy", "running")}}, exit.CodeTimeout, "has not ended within 30ms"},
		"not there":                   {"operation watch 7", nil, exit.CodeFailed, "7: Operation 7 could not be found"},
		"no such flag":                {"operation watch 7 --wiat 1m", nil, exit.CodeUsage, "unknown flag"},
		"a word instead of a number":  {"operation list --limit many", nil, exit.CodeUsage, `--limit is "many": want a whole number (show at most this many`},
		"a word instead of a time":    {"operation watch 7 --wait soon", nil, exit.CodeUsage, "--wait"},
		"a flag's own words":          {"node create --driver-info hunter2", nil, exit.CodeUsage, "--driver-info: want KEY=VALUE, or @FILE with an object"},
		"no argument":                 {"operation watch", nil, exit.CodeUsage, "name operations by their ids"},
		"refused":                     {"node manage n2 --wait 1m", nil, exit.CodeFailed, "n2: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := &scriptedAPI{starts: map[string]string{"n1": "7"}, ops: c.ops}
			got := p.follow(t, strings.Fields(c.args)...)
			require.Equal(t, c.code, exit.Code(got.failed), "%v", got.failed)
			if c.says != "" {
				require.ErrorContains(t, got.failed, c.says)
			}
		})
	}
	for _, args := range []string{"operation wacth 7", "node waive n1", "operation show", "nonsense"} {
		err := execute(t.Context(), strings.Fields(args), strings.NewReader(""), io.Discard, io.Discard)
		require.Equal(t, exit.CodeUsage, exit.Code(err), "%s: %v", args, err)
	}
	require.Zero(t, exit.Code(nil))
	require.Equal(t, exit.CodeInterrupted, exit.Code(errors.Join(context.Canceled, exit.WithCode(exit.CodeInterrupted, context.Canceled))))
	require.Equal(t, exit.CodeFailed, exit.Code(errors.Join(exit.WithCode(exit.CodeHeld, context.Canceled), errors.New("no disk"))))
}
