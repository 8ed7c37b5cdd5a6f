// Package system_test tests Temper as a whole, from outside, as its clients and its hardware see it: real processes, real
// HTTP, simulated servers with faults on demand, and processes that die.
package system_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// atOnce is how many tests run at a time. It is large, because tests wait most of the time.
const atOnce = 20

func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel != nil {
		if n, err := strconv.Atoi(parallel.Value.String()); err == nil && n < atOnce {
			_ = parallel.Value.Set(strconv.Itoa(atOnce)) // a whole number fits
		}
	}
	sweep()
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if built != "" {
		_ = os.RemoveAll(built) // a leftover in the system's temporary folder does no harm
	}
	os.Exit(code)
}

// folders begins the names of this test's folders; the pid of the process that made one follows.
const folders = "temper-system-"

func folder() (string, error) { return os.MkdirTemp("", fmt.Sprintf("%s%d-", folders, os.Getpid())) }

// sweep removes what earlier runs have left, because they failed or were killed.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), folders+"*")) // the pattern is valid
	for _, dir := range dirs {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folders), "-")
		if pid, err := strconv.Atoi(number); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir) // the next run tries again
		}
	}
}

// built is the folder of the programs; "" = not built yet.
var built string

// programs is a folder with temper as the code is now, and temporal-dev beside it: the one of `make build` where there
// is one, because it takes minutes to build anew. TEMPER_TEST_PROGRAMS names a folder with others to try.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("TEMPER_TEST_PROGRAMS"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if err := lookAround(root); err != nil {
		return "", err
	}
	if built, err = folder(); err != nil {
		return "", err
	}
	if err := build(root, "-o", filepath.Join(built, "temper"), "./cmd/temper"); err != nil {
		return "", err
	}
	beside := filepath.Join(built, "temporal-dev")
	if _, err := os.Stat(filepath.Join(root, "bin", "temporal-dev")); err == nil {
		return built, os.Symlink(filepath.Join(root, "bin", "temporal-dev"), beside)
	}
	return built, build(filepath.Join(root, "deploy", "temporal-dev"), "-o", beside, ".")
})

// lookAround reads every folder of the module, so that go test knows what the answer depends on and does not repeat an
// old one from its cache: what `go build` reads it can't see.
func lookAround(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // something temporary that has just gone
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		return nil
	})
}

func build(dir string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build in %s: %w: %s", dir, err, out)
	}
	return nil
}
