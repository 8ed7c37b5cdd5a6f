//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// say writes to the kernel's log, and so to all consoles, screen and serial line alike. Before /dev is there it writes to the
// console that the kernel gave to process 1.
func say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	kernel, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err == nil {
		defer kernel.Close()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		// 4 is a warning: what is less urgent does not reach consoles that are set to be quiet.
		if err == nil {
			if _, err := fmt.Fprintf(kernel, "<4>temper: %s\n", line); err == nil {
				continue
			}
		}
		fmt.Fprintln(os.Stderr, "temper:", line)
	}
}
