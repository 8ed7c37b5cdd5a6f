package ramdisk

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/testenv"
)

// A boot takes 15 s on an idle machine, all of it computed by QEMU. Only a machine that hangs takes this long.
const bootLimit = 10 * time.Minute

// program builds a static program for the ramdisk.
func program(t *testing.T, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	return out
}

// apiURL is on the kernel's command line of the ramdisk for the tests.
const apiURL = "ipa-api-url=http://10.0.2.2:6385"

// uefi is a machine with UEFI. Its CD is at SATA, as those of servers are; that of QEMU's usual machine, with a BIOS, is at IDE.
func uefi(t *testing.T) []string {
	t.Helper()
	const folder = "/usr/share/OVMF/"
	testenv.Need(t, folder+"OVMF_CODE_4M.fd", "ovmf")
	return []string{
		"-machine", "q35",
		"-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" + folder + "OVMF_CODE_4M.fd",
		"-drive", "if=pflash,unit=1,format=raw,snapshot=on,file=" + folder + "OVMF_VARS_4M.fd",
	}
}

// A machine with 384 MiB and a network card whose driver is a module boots the ramdisk as a server does, by each way that there
// is: drivers, network, parameters, agent, and the agent again when it has ended.
func TestAMachineBoots(t *testing.T) {
	needApt(t)
	const qemu = "qemu-system-x86_64"
	testenv.Need(t, qemu, "qemu-system-x86")
	c := builtRamdisk(t)
	at := func(name string) string { return filepath.Join(c.Out, name) }

	turns := make(chan struct{}, 2) // machines at once: each of them computes all the time
	for way, machine := range map[string]func(t *testing.T) []string{
		"kernel and initrd": func(*testing.T) []string {
			return []string{"-kernel", at(KernelFile), "-initrd", at(InitrdFile), "-append", "console=ttyS0 panic=-1 no_timer_check " + apiURL}
		},
		"ISO by BIOS": func(*testing.T) []string { return []string{"-cdrom", at(ISOFile)} },
		"ISO by UEFI": func(t *testing.T) []string { return append(uefi(t), "-cdrom", bootMedium(t, at(ISOFile))) },
		"unified kernel image by UEFI": func(t *testing.T) []string {
			disk := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Join(disk, "EFI/BOOT"), 0o755))
			require.NoError(t, os.Link(at(ImageFile), filepath.Join(disk, "EFI/BOOT/BOOTX64.EFI")))
			return append(uefi(t), "-drive", "if=none,id=disk,format=raw,readonly=on,file=fat:"+disk, "-device", "virtio-blk-pci,drive=disk")
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			if way != "ISO by UEFI" {
				testenv.OnlyInAll(t, "a boot takes 20 seconds of a core, and the ISO is what BMCs insert")
			}
			turns <- struct{}{}
			defer func() { <-turns }()
			with := ""
			if way == "ISO by UEFI" {
				with = "--token-file=/run/temper/token .*--node=0b1e1f7e-0000-4000-8000-000000000001 --ca-file=/run/temper/ca.pem"
			}
			boots(t, append([]string{qemu}, machine(t)...), with)
		})
	}
}

// bootMedium writes the medium that the API would serve for a boot from the ISO.
func bootMedium(t *testing.T, from string) string {
	t.Helper()
	image, err := medium.Open(from)
	require.NoError(t, err)
	defer image.Close()
	m, err := image.For(medium.Contents{Node: "0b1e1f7e-0000-4000-8000-000000000001", Token: bootToken, APIURLs: []string{"http://10.0.2.2:6385"}, CA: []byte("PEM")})
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "medium.iso")
	f, err := os.Create(name)
	require.NoError(t, err)
	_, err = io.Copy(f, m)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return name
}

const bootToken = "for-tests-only-a-token-of-43-characters-xyz"

// boots starts a machine, and waits for what the ramdisk says on its console. with is a pattern of flags of the agent.
func boots(t *testing.T, machine []string, with string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	// Never KVM: a machine may have /dev/kvm on which a usual kernel hangs. restrict: the guest reaches nothing outside. romfile:
	// no boot by network, which firmware would try if it did not find ours.
	args := append([]string{"-n", "2"}, machine...)
	cmd := exec.CommandContext(ctx, "nice", append(args, "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "384", "-no-reboot",
		"-display", "none", "-monitor", "none", "-serial", "stdio",
		"-device", "virtio-rng-pci", "-netdev", "user,id=net,restrict=on", "-device", "e1000e,netdev=net,romfile=")...)
	cmd.Stderr = os.Stderr
	console, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()

	missing := map[string]*regexp.Regexp{}
	for what, pattern := range map[string]string{
		"process 1":            `temper: Temper's ramdisk, Linux \d`,
		"an address":           `temper: boot: eth0: has 10\.0\.2\.15/24`,
		"the agent's start":    `temper: agent: called with \[agent .*--api-url=http://10\.0\.2\.2:6385`,
		"its flags":            "temper: agent: called with .*" + with,
		"the end of the agent": `temper: agent ended with exit code 3; it is started again`,
	} {
		missing[what] = regexp.MustCompile(pattern)
	}
	starts := 0
	var said []string
	for lines := bufio.NewScanner(console); (len(missing) > 0 || starts < 2) && lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "temper: agent: called with") {
			starts++
		}
		for what, pattern := range missing {
			if pattern.MatchString(lines.Text()) {
				delete(missing, what)
			}
		}
	}
	require.Empty(t, missing, "the console said:\n%s", strings.Join(said, "\n"))
	require.NotContains(t, strings.Join(said, "\n"), bootToken)
	require.GreaterOrEqual(t, starts, 2, "the agent was not started again:\n%s", strings.Join(said, "\n"))
}
