package clitest

import (
	"strings"
	"time"
)

// Operation returns an operation on node n1, as the API answers it. state is "STATE" or "ended:OUTCOME", a step
// "interface.name STATE" or "interface.name STATE CONDUCTOR".
func Operation(id, kind, state string, steps ...string) map[string]any {
	state, outcome, _ := strings.Cut(state, ":")
	out := map[string]any{
		"id": id, "kind": kind, "state": state, "outcome": nil, "node_name": "n1", "node_uuid": "u1", "error": nil,
		"accepted_at": "2026-01-02T03:04:05+00:00",
	}
	if outcome != "" {
		out["outcome"], out["ended_at"] = outcome, "2026-01-02T03:04:17+00:00"
	}
	var list []map[string]any
	for i, s := range steps {
		f := strings.Fields(s)
		iface, name, _ := strings.Cut(f[0], ".")
		step := map[string]any{"index": i, "interface": iface, "step": name, "state": f[1], "attempts": 1}
		if len(f) > 2 {
			step["conductor"] = f[2]
		}
		list = append(list, step)
	}
	out["steps"] = list
	return out
}

// With sets a field of an operation, and returns the operation.
func With(o map[string]any, key string, v any) map[string]any {
	o[key] = v
	return o
}

// Interrupted returns an operation that was cancelled 12 seconds after it was accepted, in the middle of a step.
func Interrupted() map[string]any {
	o := Operation("7", "deploy", "ended:cancelled", "deploy.prepare done c1", "deploy.boot waiting c2", "deploy.end pending")
	steps := o["steps"].([]map[string]any)
	steps[0]["started_at"], steps[0]["ended_at"] = "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:07+00:00"
	steps[1]["started_at"] = "2026-01-02T03:04:07+00:00"
	return o
}

// Afterwards are times after the end of Interrupted.
var Afterwards = []time.Time{time.Date(2026, 1, 2, 3, 4, 20, 0, time.UTC), time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}
