package main

import (
	"context"
	"errors"
	"strings"

	"go.temper.dev/temper/internal/chaos"
)

var answerRows = []row{
	{
		name: "the answer to a request is lost", holds: "read back, not repeated", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.spoiled(ctx, "reset", "after") },
	},
	{
		name: "a request is lost", holds: "made again", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.spoiled(ctx, "reset", "before") },
	},
	{
		name: "the answer to a request comes three seconds late", holds: "waited for, not repeated", points: requested,
		happen: func(ctx context.Context, r *round) error { return r.spoiled(ctx, "latency", "after") },
	},
	{
		name: "the agent dies in the middle of a command", holds: "fails, with the reason, into the state that the table names; what is half done is undone",
		points: commanded, judge: failed(""),
		happen: func(ctx context.Context, r *round) error { return r.spoiled(ctx, "agent_dies", "") },
	},
}

// requested are the points right before each request that changes a server or an agent.
func requested(k kind) ([]point, error) {
	return where(k, func(p point) bool { return p.Name == chaos.Request })
}

// commanded are those right before a command that an agent works at for a while.
func commanded(k kind) ([]point, error) {
	return where(k, func(p point) bool { return p.Name == chaos.Request && strings.Contains(p.Request, ".execute_") })
}

// spoiled has something go wrong with exactly the request before which each operation stands.
func (r *round) spoiled(ctx context.Context, fault, when string) error {
	if err := r.begin(ctx, false); err != nil {
		return err
	}
	err := each(r.subjects(), func(i int, s *subject) error {
		f := map[string]any{"kind": fault, "when": when, "count": 1, "delay": "3s"}
		switch what := r.trials[i].Request; {
		case strings.Contains(what, "."):
			f["command"] = what
		case strings.HasPrefix(what, "boot"):
			f["method"] = "PATCH"
		default:
			f["method"] = "POST"
		}
		return r.Spoil(ctx, s.server, []map[string]any{f})
	})
	r.happen()
	err = errors.Join(err, r.victim.release(), r.over(ctx, patience))
	return errors.Join(err, each(r.subjects(), func(_ int, s *subject) error { return r.Spoil(ctx, s.server, nil) }))
}
