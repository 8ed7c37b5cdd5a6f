// Command mkramdisk builds the ramdisk; make ramdisk calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"go.temper.dev/temper/internal/ramdisk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := ramdisk.Config{Log: os.Stderr}
	flag.StringVar(&c.Cache, "cache", ".temper/ramdisk", "folder for Debian's packages, kept for the next time")
	flag.StringVar(&c.Out, "out", "bin/ramdisk", "folder for the ramdisk")
	flag.StringVar(&c.Init, "init", "bin/ramdisk/init", "program that becomes /init")
	flag.StringVar(&c.Agent, "agent", "bin/ramdisk/temper-agent", "program that becomes /temper, whose command agent is run; none if empty")
	flag.StringVar(&c.Flavour, "flavour", "", "rescue adds an SSH server, for people to log in during a rescue, and tools for disks and networks")
	flag.StringVar(&c.Append, "append", "", "parameters to add to the kernel's command line in the ISO and the unified kernel image")
	flag.Parse()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "mkramdisk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c ramdisk.Config) error {
	if err := ramdisk.Build(ctx, c); err != nil {
		return err
	}
	for _, name := range []string{ramdisk.KernelFile, ramdisk.InitrdFile, ramdisk.ImageFile, ramdisk.ISOFile} {
		path := filepath.Join(c.Out, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		fmt.Printf("%-24s %5.1f MB\n", path, float64(info.Size())/1e6)
	}
	return nil
}
