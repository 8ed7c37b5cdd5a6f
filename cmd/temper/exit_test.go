package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Scripts rely on these.
func TestExitCodes(t *testing.T) {
	held := func() map[string]any {
		return with(op("7", "deploy", "holding", "deploy.write_image failed"), "choices", []string{"retry", "abort"})
	}
	for name, c := range map[string]struct {
		args string
		ops  map[string][]map[string]any
		code int
		says string
	}{
		"done":        {"operation watch 7", map[string][]map[string]any{"7": {op("7", "deploy", "ended:succeeded")}}, 0, ""},
		"failed":      {"operation watch 7", map[string][]map[string]any{"7": {op("7", "deploy", "ended:failed")}}, exitFailed, "failed"},
		"held":        {"operation watch 7", map[string][]map[string]any{"7": {op("7", "deploy", "running"), held()}}, exitHeld, "operation 7 (deploy) holds at deploy.write_image; decide with temper operation retry|abort 7"},
		"held, too":   {"node deploy n1 --wait 1m", map[string][]map[string]any{"7": {held()}}, exitHeld, "holds at"},
		"a hold step": {"node deploy n1 --watch", map[string][]map[string]any{"7": {op("7", "deploy", "holding", "deploy.hold waiting")}}, exitHeld, "temper node unhold"},
		"not held: it is to end": {
			"operation cancel 7 --wait 1m", map[string][]map[string]any{"7": {with(held(), "asked", "cancel"), op("7", "deploy", "ended:cancelled")}}, 0, "",
		},
		"not held: it goes on": {
			"operation watch 7", map[string][]map[string]any{"7": {with(held(), "asked", "unhold"), op("7", "deploy", "ended:succeeded")}}, 0, "",
		},
		"out of sight": {"node deploy n1 --wait 1m", nil, exitUnknown, "lost sight of operation 7"},
		"out of time":  {"operation watch 7 --wait 30ms", map[string][]map[string]any{"7": {op("7", "deploy", "running")}}, exitUnknown, "has not ended within"},
		"no such flag": {"operation watch 7 --wiat 1m", nil, exitUsage, "unknown flag"},
		"no argument":  {"operation watch", nil, exitUsage, "name operations by their ids"},
		"refused":      {"node manage n2 --wait 1m", nil, exitFailed, "n2: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := &played{starts: map[string]string{"n1": "7"}, ops: c.ops}
			got := p.follow(t, strings.Fields(c.args)...)
			require.Equal(t, c.code, exitCode(got.failed), "%v", got.failed)
			if c.says != "" {
				require.ErrorContains(t, got.failed, c.says)
			}
		})
	}
	for _, args := range []string{"operation wacth 7", "node waive n1", "operation show", "nonsense"} {
		err := run(t.Context(), strings.Fields(args), stdio{strings.NewReader(""), io.Discard, io.Discard})
		require.Equal(t, exitUsage, exitCode(err), "%s: %v", args, err)
	}
	require.Zero(t, exitCode(nil))
	require.Equal(t, exitInterrupted, exitCode(errors.Join(context.Canceled, &exitError{exitInterrupted, context.Canceled})))
	require.Equal(t, exitFailed, exitCode(errors.Join(&exitError{exitHeld, context.Canceled}, errors.New("no disk"))))
}
