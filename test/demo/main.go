// Command demo shows Temper's main job on one machine: 24 simulated servers are enrolled, verified and cleaned, 12 of
// them deployed at once while a conductor is killed, and two given back. It exits with 0 only if every promise held. With --vm it deploys
// one virtual machine, which really boots.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// The sizes of the demonstration.
const (
	servers    = 24
	conductors = 3
	deploys    = 12
	giveBack   = 2
	// busy is on how many steps a conductor must be working when it is killed.
	busy = 3
)

func main() {
	temper := flag.String("temper", "bin/temper", "the `program` to show; temporal-dev stands beside it")
	timeout := flag.Duration("timeout", 6*time.Minute, "how long all of it may take")
	keep := flag.Bool("keep", false, "keep the folder with data and logs")
	vm := flag.Bool("vm", false, "deploy one virtual machine of QEMU's, which really boots")
	ramdisk := flag.String("ramdisk", "bin/ramdisk/temper-ramdisk.iso", "with --vm: the `file` that make ramdisk builds")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("not done within %s", *timeout))
	defer cancel()
	d := demonstration{start: start, show: (*demo).show}
	if *vm {
		d.start = func(ctx context.Context, temper string, out *screen) (*demo, error) {
			return startVM(ctx, temper, *ramdisk, out)
		}
		d.show = (*demo).showVM
	}
	if err := d.run(ctx, *temper, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // what is deferred concerns only this process
	}
}

// demonstration is what is started, and what is shown then.
type demonstration struct {
	start func(ctx context.Context, temper string, out *screen) (*demo, error)
	show  func(s *demo, ctx context.Context) error
}

// run runs the demonstration. Its folder is kept if something went wrong.
func (d demonstration) run(ctx context.Context, temper string, keep bool) (err error) {
	out := newScreen(os.Stdout)
	defer out.end()
	s, err := d.start(ctx, temper, out)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil && !keep {
			err = s.Stop()
			return
		}
		err = errors.Join(err, s.End())
		out.say("Logs are in %s", filepath.Dir(s.Log("")))
	}()
	err = d.show(s, ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if err != nil {
		s.complain(context.WithoutCancel(ctx))
	}
	return err
}
