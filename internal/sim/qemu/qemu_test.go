package qemu_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/sim/qemu"
	"go.temper.dev/temper/internal/testenv"
)

// sector is a boot sector that prints "booted" on the first serial port, and then runs end.
func sector(end ...byte) []byte {
	b := append([]byte{
		0x31, 0xc0, 0x8e, 0xd8, 0xfc, // ax = ds = 0, forward
		0xb8, 0xe3, 0x00, 0x31, 0xd2, 0xcd, 0x14, // the port: 9600 baud, 8 bits
		0xbe, byte(0x1c + len(end)), 0x7c, // si = the text, behind this code
		0xac, 0x84, 0xc0, 0x74, 0x08, 0xb4, 0x01, 0x31, 0xd2, 0xcd, 0x14, 0xeb, 0xf3, // prints until there is a 0
	}, append(end, "booted"...)...)
	return append(append(b, make([]byte, 510-len(b))...), 0x55, 0xaa)
}

// server returns a virtual machine with a BIOS.
func server(t *testing.T) (*machine.Server, *qemu.Machines) {
	t.Helper()
	testenv.Need(t, "qemu-system-x86_64", "qemu-system-x86")
	m, err := qemu.New(qemu.Config{Dir: t.TempDir(), BIOS: true})
	require.NoError(t, err)
	s := machine.New(&machine.Env{Seed: 1, DataDir: t.TempDir(), Computer: m, Changed: func(*machine.Server) {}}, 0, machine.Make{})
	t.Cleanup(s.Halt)
	return s, m
}

func TestAVirtualMachineBootsAndEndsWithItsPower(t *testing.T) {
	t.Parallel()
	s, m := server(t)
	require.Equal(t, int64(512), s.MemoryMiB())
	require.Equal(t, []string{"Legacy"}, s.BootModes())
	require.NoError(t, os.WriteFile(m.Disk(s.Name), sector(0xf4, 0xeb, 0xfd), 0o600))
	require.True(t, s.Console.Open())

	printed := ""
	awaitPrinted := func(text string) {
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			b := make([]byte, 4096)
			printed += string(b[:s.Console.Read(b)])
			assert.Contains(t, printed, text)
			assert.NotContains(t, printed, "failed")
		}, time.Minute, 20*time.Millisecond)
	}
	require.NoError(t, s.Reset(machine.ResetOn))
	awaitPrinted("booted")
	require.Equal(t, machine.Disk, s.Booted())

	printed = ""
	require.NoError(t, s.Reset(machine.ResetForceRestart))
	awaitPrinted("booted")
	require.Equal(t, machine.On, s.PowerState())

	require.NoError(t, s.Reset(machine.ResetForceOff))
	require.Eventually(t, func() bool { return s.PowerState() == machine.Off }, time.Minute, 20*time.Millisecond)
	out, _ := exec.Command("pgrep", "-f", m.Disk(s.Name)).Output() //nolint:noctx // it returns at once
	require.Empty(t, strings.TrimSpace(string(out)), "its process is gone")
}

// A restart by what runs on the machine boots it again, as a server does.
func TestAVirtualMachineRestartsItself(t *testing.T) {
	t.Parallel()
	s, m := server(t)
	require.NoError(t, os.WriteFile(m.Disk(s.Name), sector(0xb0, 0xfe, 0xe6, 0x64, 0xf4), 0o600)) // by the keyboard's controller
	require.NoError(t, s.Reset(machine.ResetOn))
	require.Eventually(t, func() bool {
		n := 0
		for _, a := range s.PowerActions() {
			if a.ResetType == machine.ResetType(machine.GuestReset) {
				n++
			}
		}
		return n >= 2
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, machine.On, s.PowerState())
}
