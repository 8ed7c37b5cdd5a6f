package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Programs returns the folder of temper and temporal-dev: the one that TEMPER_TEST_PROGRAMS names, as `make test` does after it has built
// both, else bin of the module at root, where it builds both as the code is now.
func Programs(ctx context.Context, root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := lookAround(root); err != nil {
		return "", err
	}
	if dir := os.Getenv("TEMPER_TEST_PROGRAMS"); dir != "" {
		return filepath.Abs(dir)
	}
	return filepath.Join(root, "bin"), run(ctx, root, "make", "build")
}

// Temper is Programs, and returns the path of temper.
func Temper(ctx context.Context, root string) (string, error) {
	bin, err := Programs(ctx, root)
	return filepath.Join(bin, "temper"), err
}

// Build builds temper with build tags from the module at root into dir, and puts temporal-dev beside it: the one of
// `make build` where there is one, because it takes minutes to build anew. It returns temper's path.
func Build(ctx context.Context, root, dir string, tags ...string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if err := lookAround(root); err != nil {
		return "", err
	}
	temper := filepath.Join(dir, "temper")
	if err := run(ctx, root, "go", "build", "-tags", strings.Join(tags, ","), "-o", temper, "./cmd/temper"); err != nil {
		return "", err
	}
	ours := filepath.Join(root, "bin", "temporal-dev")
	if _, err := os.Stat(ours); err != nil {
		if err := run(ctx, root, "make", "temporal-dev"); err != nil {
			return "", err
		}
	}
	if err := os.Symlink(ours, filepath.Join(dir, "temporal-dev")); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return temper, nil
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s in %s: %w: %s", cmd, dir, err, out)
	}
	return nil
}

// lookAround reads every folder of the module, so that go test does not repeat an old answer from its cache: what
// `go build` reads it can't see.
func lookAround(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // something temporary that has just gone
			return nil
		case err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		}
		return err
	})
}
