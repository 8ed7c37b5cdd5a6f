//go:build linux

// Command init is the first program of the ramdisk, started by the kernel as /init. It makes the server usable and keeps the
// agent running; it knows nothing of Ironic's protocol and never ends.
//
// It is four programs in one file: as process 1 it only starts, watches and reaps; "init boot" loads drivers, brings up the
// network and finds the parameters, so that a fault there ends neither process 1 nor the agent; "init rescue" lets a person log in
// when the agent has ended for that; and called as modprobe it loads what the kernel asks for.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	switch {
	case filepath.Base(os.Args[0]) == "modprobe":
		os.Exit(modprobe(os.Args[1:]))
	case !inRamdisk():
		fmt.Fprintln(os.Stderr, "init: this is not Temper's ramdisk: /etc/temper-initrd is not there")
		os.Exit(1)
	case os.Getpid() == 1:
		firstProcess()
	case len(os.Args) == 2 && os.Args[1] == "boot":
		if err := boot(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 2 && os.Args[1] == "rescue":
		if err := rescue(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "init: only the kernel and process 1 call this program")
		os.Exit(2)
	}
}

// inRamdisk says whether this is the system that the program was made for. On any other it would do harm.
func inRamdisk() bool {
	_, err := os.Stat("/etc/temper-initrd")
	return err == nil
}
