package dev_test

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/internal/ramdisk"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

func TestReleaseRunsWithoutGo(t *testing.T) {
	testenv.OnlyInAll(t, "it compiles both programs for two architectures; make build links the same code")
	top := stack.Folder(t)
	first := release(t, filepath.Join(top, "first"), "amd64 arm64")
	command(t, first, "sha256sum", "--check", "--strict", "SHA256SUMS")
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		unpacked := unpack(t, first, arch)
		require.FileExists(t, filepath.Join(unpacked, "README.md"))
		requireStatic(t, filepath.Join(unpacked, "bin", "temper"), machine)
		requireStatic(t, filepath.Join(unpacked, "bin", "temporal-dev"), machine)
	}

	for _, name := range []string{"temper-ramdisk-v1.2.3", "temper-ramdisk-rescue-v1.2.3"} {
		command(t, first, "tar", "-xf", name+".tar.gz")
		command(t, filepath.Join(first, name), "sha256sum", "--check", "--strict", ramdisk.SumsFile)
		require.FileExists(t, filepath.Join(first, name, ramdisk.ISOFile))
	}

	bin := filepath.Join(unpack(t, first, runtime.GOARCH), "bin")
	temper := filepath.Join(bin, "temper")
	commit := command(t, ".", "git", "rev-parse", "HEAD")[:40]
	require.Contains(t, command(t, top, temper, "version"), "temper v1.2.3, commit "+commit)
	require.Contains(t, command(t, top, filepath.Join(bin, "temporal-dev"), "--version"), "temporal-dev v1.2.3, commit "+commit)

	postgres, err := pgserver.Find()
	require.NoError(t, err)
	t.Setenv("PATH", postgres.Dir)
	s := &world{Stack: stack.Config{Temper: temper, Dir: filepath.Join(top, "run"), Args: []string{"--nodes", "2"}}.For(t), t: t}
	names, err := s.nodes()
	require.NoError(t, err)
	require.Equal(t, []string{"sim-0001", "sim-0002"}, names)
	s.terminate("it ends in good order")
}

func TestReleaseIsTheSameForEverybody(t *testing.T) {
	testenv.OnlyInAll(t, "it links both programs twice more")
	top := stack.Folder(t)
	ours := release(t, filepath.Join(top, "ours"), runtime.GOARCH)
	theirs := release(t, filepath.Join(top, "theirs"), runtime.GOARCH, "umask 077", "export TZ=Asia/Tokyo GOFLAGS=")
	require.Equal(t, command(t, ours, "cat", "SHA256SUMS"), command(t, theirs, "cat", "SHA256SUMS"))
}

// release makes the tarballs of version v1.2.3 in a folder, which it returns, after commands of the shell.
func release(t *testing.T, to, architectures string, before ...string) string {
	t.Helper()
	makes := fmt.Sprintf("make release VERSION=v1.2.3 RELEASE=%q ARCHITECTURES=%q", to, architectures)
	command(t, "../..", "bash", "-c", strings.Join(append(before, makes), "; "))
	return to
}

// unpack unpacks the tarball of an architecture, and returns its folder.
func unpack(t *testing.T, dir, arch string) string {
	t.Helper()
	name := "temper-v1.2.3-linux-" + arch
	command(t, dir, "tar", "-xf", name+".tar.gz")
	return filepath.Join(dir, name)
}

func requireStatic(t *testing.T, program string, machine elf.Machine) {
	t.Helper()
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, machine, f.Machine)
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "%s needs a dynamic linker", program)
	}
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, stack.Environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
	return string(out)
}
