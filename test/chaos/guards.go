package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/text"
	"go.temper.dev/temper/test/stack"
)

// guardsFolder holds the patches that take guards down, below the module.
const guardsFolder = "test/chaos/guards"

// guard prevents that an operation is done twice. It has the rows of the matrix that fail without it.
type guard struct {
	name  string // its patch is guardsFolder/name.patch
	row   string
	kinds []string
}

// patch is the file of the patch that takes the guard down, below the module.
func (g guard) patch() string { return guardsFolder + "/" + g.name + ".patch" }

var guardList = []guard{
	{name: "claim_check", row: "conductor frozen, and continued", kinds: []string{"deploy", "power off"}},
	{name: "wait_for_cancellation", row: "workflow cancelled from Temporal's side", kinds: []string{"deploy", "power off"}},
	{name: "begun_at", row: "Temporal's data gone, with 3 open operations", kinds: []string{"deploy", "undeploy", "provide"}},
	{name: "look_before_act", row: "conductor killed", kinds: []string{"deploy", "power off"}},
	{name: "wait_for_request", row: "conductor killed in a slow request", kinds: []string{"deploy", "reboot"}},
	{name: "reject_duplicate", row: "API that starts the workflow when all is over", kinds: []string{"deploy", "power off"}},
}

// withoutGuards removes one guard at a time, all or the named ones, and checks that the matrix fails.
func withoutGuards(ctx context.Context, root string, only []string, say func(string, ...any)) error {
	for _, name := range only {
		if !slices.ContainsFunc(guardList, func(g guard) bool { return g.name == name }) {
			return fmt.Errorf("no guard is called %q", name)
		}
	}
	var green []error
	for _, g := range guardList {
		if len(only) > 0 && !has(only, g.name) {
			continue
		}
		why, err := withoutGuard(ctx, root, g, say)
		if err != nil {
			return err
		}
		if why == nil {
			green = append(green, fmt.Errorf("%s: nobody noticed that it was down", g.name))
			say("%s: GREEN, and it must not be", g.name)
			continue
		}
		say("%s: red, as it must be:\n    %s", g.name, strings.ReplaceAll(text.Truncate(why.Error(), 1200, "..."), "\n", "\n    "))
	}
	return errors.Join(green...)
}

// withoutGuard returns how the matrix fails without a guard; nil if it does not.
func withoutGuard(ctx context.Context, root string, g guard, say func(string, ...any)) (why, err error) {
	dir, err := os.MkdirTemp("", "temper-chaos-build-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	scratch := filepath.Join(dir, "tree")
	if err := copyTree(ctx, root, scratch); err != nil {
		return nil, err
	}
	if err := apply(ctx, scratch, g.patch()); err != nil {
		return nil, err
	}
	temper, err := stack.Build(ctx, scratch, dir, "chaos")
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", g.patch(), err)
	}
	why = run(ctx, options{temper: temper, rows: []string{g.row}, kinds: g.kinds, most: 12, atOnce: 50, unguarded: true, say: say})
	var tried *notAsTheyMustBe
	if why != nil && !errors.As(why, &tried) {
		return nil, fmt.Errorf("%s: the matrix could not be tried: %w", g.name, why)
	}
	if !wrong(why) { // a case that is only late does not show that the guard is needed
		return nil, ctx.Err()
	}
	return why, ctx.Err()
}

// copyTree copies the files of the module that git knows or would add, as they are in the working tree, and links to
// temporal-dev where it was built.
func copyTree(ctx context.Context, root, to string) error {
	list, err := git(ctx, root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(strings.TrimRight(list, "\x00"), "\x00") {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // deleted, but still in git's index
			continue
		}
		file := filepath.Join(to, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(file), 0o755)
		}
		if err == nil {
			err = os.WriteFile(file, raw, 0o644)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	built, err := filepath.Abs(filepath.Join(root, "bin", "temporal-dev"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(built); err != nil {
		return nil //nolint:nilerr // stack.Build builds it
	}
	beside := filepath.Join(to, "bin")
	return errors.Join(os.MkdirAll(beside, 0o755), os.Symlink(built, filepath.Join(beside, "temporal-dev")))
}

// apply applies a patch of the tree to the tree at root. more is given to git.
func apply(ctx context.Context, root, patch string, more ...string) error {
	_, err := git(ctx, root, append(append([]string{"apply"}, more...), patch)...)
	if err != nil {
		err = fmt.Errorf("%s does not apply: mend it for the code as it is now: %w", patch, err)
	}
	return err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(failed.String()))
	}
	return string(out), nil
}
