package qemu

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/sim/machine"
)

// monitor is QEMU's QMP: lines of JSON, in both directions.
type monitor struct{ conn net.Conn }

// newMonitor returns a monitor, and the file that QEMU's process must have.
func newMonitor() (*monitor, *os.File, error) {
	syscall.ForkLock.RLock() // no other process may get them
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make QEMU's monitor: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "monitor"), os.NewFile(uintptr(pair[1]), "monitor of QEMU")
	defer ours.Close()
	conn, err := net.FileConn(ours) // has a file of its own
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("make QEMU's monitor: %w", err)
	}
	return &monitor{conn}, theirs, nil
}

func (m *monitor) close() { _ = m.conn.Close() }

// press presses the power button (ACPI).
func (m *monitor) press() { _, _ = io.WriteString(m.conn, `{"execute":"system_powerdown"}`+"\n") }

// watch reads until QEMU has ended, and returns how the machine ended.
func (m *monitor) watch() machine.Ending {
	ending := machine.Failed
	_, _ = io.WriteString(m.conn, `{"execute":"qmp_capabilities"}`+"\n") // without it QEMU tells nothing
	for lines := bufio.NewScanner(m.conn); lines.Scan(); {
		var e struct {
			Event string `json:"event"`
			Data  struct {
				Reason string `json:"reason"`
			} `json:"data"`
		}
		if jsonvalue.Unmarshal(lines.Bytes(), &e) != nil || e.Event != "SHUTDOWN" {
			continue
		}
		ending = machine.GuestOff
		if e.Data.Reason == "guest-reset" {
			ending = machine.GuestReset
		}
	}
	return ending
}
