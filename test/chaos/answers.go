package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/chaos"
)

var answerRows = []row{
	{
		name: "the answer to a request is lost", holds: "read back, not repeated", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.request(ctx, "reset", "after") },
	},
	{
		name: "a request is lost", holds: "made again", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.request(ctx, "reset", "before") },
	},
	{
		name: "the answer to a request comes three seconds late", holds: "waited for, not repeated", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.request(ctx, "latency", "after") },
	},
}

// fault is a fault of the rack.
type fault = map[string]any

// requested returns the points right before each request that changes a server or an agent.
func requested(k kind) ([]point, error) {
	return where(k, func(p point) bool { return p.Name == chaos.Request })
}

// request makes exactly that request fail before which each operation is stopped.
func (r *round) request(ctx context.Context, kind, when string) error {
	return r.spoiled(ctx, func(t *trial) []fault {
		f := fault{"kind": kind, "when": when, "count": 1, "delay": "3s"}
		switch what := t.Request; {
		case strings.Contains(what, "."):
			f["command"] = what
		default:
			t.strikes(f)
		}
		return []fault{f}
	})
}

// spoiled brings each operation to its point, sets faults of its server, and lets it continue. Each fault has to strike.
func (r *round) spoiled(ctx context.Context, wrong func(*trial) []fault) error {
	if err := r.begin(ctx, false); err != nil {
		return err
	}
	err := each(r.subjects(), func(i int, s *subject) error { return r.Spoil(ctx, s.server, wrong(r.trials[i])) })
	r.happen()
	err = errors.Join(err, r.victim.release(), r.over(ctx, patience))
	return errors.Join(err, each(r.subjects(), func(i int, s *subject) error {
		left, err := r.Left(ctx, s.server)
		for _, f := range wrong(r.trials[i]) {
			if slices.ContainsFunc(left, func(l fault) bool { return reflect.DeepEqual(l, read(f)) }) {
				err = errors.Join(err, fmt.Errorf("%s: it did not happen: %v", r.trials[i].point, f))
			}
		}
		return errors.Join(err, r.Spoil(ctx, s.server, nil))
	}))
}

// read returns the fault as its JSON has it.
func read(f fault) (out fault) {
	raw, err := json.Marshal(f)
	if err == nil {
		_ = json.Unmarshal(raw, &out) // JSON that was just encoded can be decoded
	}
	return out
}
