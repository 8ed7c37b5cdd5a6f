package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.temper.dev/temper/test/stack"
)

// guard is one of package guards, with what turns red when it is down.
type guard struct {
	tag   string
	row   string
	kinds []string
}

var guardList = []guard{
	{tag: "without_claim_check", row: "conductor frozen, and continued", kinds: []string{"deploy", "power off"}},
	{tag: "without_wait_for_cancellation", row: "workflow cancelled from Temporal's side", kinds: []string{"deploy", "power off"}},
	{tag: "without_begun_at", row: "Temporal's data gone, with 3 open operations", kinds: []string{"deploy", "undeploy", "provide"}},
	{tag: "without_look_before_act", row: "conductor killed", kinds: []string{"deploy", "power off"}},
	{tag: "without_reject_duplicate", row: "API that starts the workflow when all is over", kinds: []string{"deploy", "power off"}},
}

// withoutGuards takes one guard down at a time and sees the matrix turn red.
func withoutGuards(ctx context.Context, root string, say func(string, ...any)) error {
	var green []error
	for _, g := range guardList {
		why, err := withoutGuard(ctx, root, g, say)
		if err != nil {
			return err
		}
		if why == nil {
			green = append(green, fmt.Errorf("%s: nobody noticed", g.tag))
			say("%s: GREEN, and it must not be", g.tag)
			continue
		}
		say("%s: red, as it must be:\n    %s", g.tag, strings.ReplaceAll(cut(why.Error(), 1200), "\n", "\n    "))
	}
	return errors.Join(green...)
}

// withoutGuard is how the matrix fails without a guard; nil where it does not.
func withoutGuard(ctx context.Context, root string, g guard, say func(string, ...any)) (why, err error) {
	dir, err := os.MkdirTemp("", "temper-chaos-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	temper, err := stack.Build(ctx, filepath.Clean(root), dir, "chaos", g.tag)
	if err != nil {
		return nil, err
	}
	why = run(ctx, options{temper: temper, rows: []string{g.row}, kinds: g.kinds, most: 12, atOnce: 50, unguarded: true, say: say})
	var wrong *notAsTheyMustBe
	if why != nil && !errors.As(why, &wrong) {
		return nil, fmt.Errorf("%s: the matrix could not be tried: %w", g.tag, why)
	}
	return why, ctx.Err()
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}
