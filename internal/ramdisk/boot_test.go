package ramdisk

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A boot takes 15 s on an idle machine, all of it computed by QEMU. Only a machine that hangs takes this long.
const bootLimit = 6 * time.Minute

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

// A machine with 384 MiB and a network card whose driver is a module boots the ramdisk as a server does: drivers, network,
// parameters, agent, and the agent again when it has ended.
func TestAMachineBoots(t *testing.T) {
	needApt(t)
	const qemu = "qemu-system-x86_64"
	if _, err := exec.LookPath(qemu); err != nil {
		if os.Getenv("TEMPER_TEST_REQUIRE") != "" {
			t.Fatalf("%s is not installed (Debian: apt-get install qemu-system-x86)", qemu)
		}
		t.Skipf("NOT TESTED: %s is not installed (Debian: apt-get install qemu-system-x86)", qemu)
	}
	c := Config{Cache: cache, Out: t.TempDir(), Init: program(t, "./init"), Agent: program(t, "./testdata/agent"), Log: os.Stderr}
	require.NoError(t, Build(t.Context(), c))

	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	// Never KVM: a machine may have /dev/kvm on which a usual kernel hangs. restrict: the guest reaches nothing outside.
	cmd := exec.CommandContext(ctx, "nice", "-n", "2", qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "384", "-no-reboot",
		"-display", "none", "-monitor", "none", "-serial", "stdio",
		"-kernel", filepath.Join(c.Out, KernelFile), "-initrd", filepath.Join(c.Out, InitrdFile),
		"-append", "console=ttyS0 panic=-1 ipa-api-url=http://10.0.2.2:6385",
		"-device", "virtio-rng-pci", "-netdev", "user,id=net,restrict=on", "-device", "e1000e,netdev=net")
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
		"the agent's start":    `temper: agent: called with \[agent .*--api-url=http://10\.0\.2\.2:6385\]`,
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
	require.GreaterOrEqual(t, starts, 2, "the agent was not started again:\n%s", strings.Join(said, "\n"))
}
