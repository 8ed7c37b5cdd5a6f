//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/ramdisk/module"
)

// hardware loads the drivers of devices.
type hardware struct {
	modules *module.Index
	asked   map[string]bool // modaliases whose modules have been loaded
	appear  chan string     // subsystems of devices that have just come
}

// extra are modules that no device asks for, and that the agent or the mounts need.
var extra = []string{"ipmi_devintf", "ipmi_si", "isofs", "md_mod", "vfat"}

// watch loads the drivers of the devices that are there, then those of devices that come: behind a controller, in a slot, or
// because a BMC has put a medium in.
func watch() (*hardware, error) {
	x, err := openModules()
	if err != nil {
		return nil, err
	}
	// The socket is there before the first look, so that nothing is missed between the two.
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("listen for devices: %w", err)
	}
	if err := unix.Bind(socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		return nil, fmt.Errorf("listen for devices: %w", err)
	}
	// Thousands of events may come while a driver is loading. Without the permission it stays as it is.
	_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20)
	h := &hardware{modules: x, asked: map[string]bool{}, appear: make(chan string, 1)}
	h.look()
	for _, name := range extra {
		h.driver(name)
	}
	go h.listen(socket)
	return h, nil
}

// look loads the drivers of all devices that there are.
func (h *hardware) look() {
	_ = filepath.WalkDir("/sys/devices", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "modalias" {
			if b, err := os.ReadFile(path); err == nil {
				h.driver(strings.TrimSpace(string(b)))
			}
		}
		return nil // devices may go while they are looked at
	})
}

func (h *hardware) driver(modalias string) {
	if modalias == "" || h.asked[modalias] {
		return
	}
	h.asked[modalias] = true
	if err := load(h.modules, modalias); err != nil {
		fmt.Println(err)
	}
}

// listen reads the kernel's messages: "add@/devices/..." and KEY=VALUE strings, each with a 0 after it.
func (h *hardware) listen(socket int) {
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(socket, buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ENOBUFS: messages were lost
			h.look()
			continue
		}
		event := map[string]string{}
		for field := range bytes.SplitSeq(buf[:n], []byte{0}) {
			if key, value, ok := strings.Cut(string(field), "="); ok {
				event[key] = value
			}
		}
		if action := event["ACTION"]; action != "add" && action != "change" {
			continue
		}
		h.driver(event["MODALIAS"])
		if event["SUBSYSTEM"] == "block" {
			select {
			case h.appear <- event["SUBSYSTEM"]:
			default: // somebody is going to look anyway
			}
		}
	}
}
