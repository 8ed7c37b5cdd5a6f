// Package system_test tests Temper as a whole, from outside, as its clients and its hardware see it: real processes, real
// HTTP, simulated servers with faults on demand, and processes that die.
package system_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	stacks "go.temper.dev/temper/test/stack"
)

// atOnce is how many tests run at a time. It is larger than the number of processors, because tests wait most of the time. With 20 they waited
// for each other on two processors, some longer than they may.
const atOnce = 10

func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel != nil {
		if n, err := strconv.Atoi(parallel.Value.String()); err == nil && n < atOnce {
			_ = parallel.Value.Set(strconv.Itoa(atOnce)) // a whole number fits
		}
	}
	sweep()
	// Collecting garbage less often costs memory, of which there is more than processor time.
	debug.SetGCPercent(400)
	if err := os.Setenv("GOGC", "400"); err != nil { // for the processes of the stacks
		panic(err)
	}
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
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

// temper returns the path of the program.
var temper = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return stacks.Temper(ctx, stacks.Root)
})
