package ramdisk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/ramdisk/initrd"
)

// cache is the folder that make ramdisk uses, so that tests download a kernel once.
const cache = "../../.temper/ramdisk"

// needApt skips the test on machines that are not Debian's kind.
func needApt(t *testing.T) {
	t.Helper()
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("TEMPER_TEST_REQUIRE") != "" {
				t.Fatalf("%s is not installed: the ramdisk is made of Debian's packages", program)
			}
			t.Skipf("NOT TESTED: %s is not installed: the ramdisk is made of Debian's packages", program)
		}
	}
}

func TestEveryDeviceHasItsModuleAndFirmware(t *testing.T) {
	needApt(t)
	apt, err := debian.Open(t.Context(), cache, os.Stderr)
	require.NoError(t, err)
	k, _, err := fetch(t.Context(), apt)
	require.NoError(t, errors.Join(err, apt.Close()))
	set, err := k.set()
	require.NoError(t, err)
	modules, err := k.modules()
	require.NoError(t, err)
	files := initrd.Files{}
	k.add(files, modules)

	require.GreaterOrEqual(t, len(devices), 60)
	for _, d := range devices {
		require.Contains(t, set.For(d.modalias()), d.module, "%s, %s", d.name, d.modalias())
		found := false
		for path := range files {
			found = found || strings.HasSuffix(path, "/"+strings.ReplaceAll(d.module, "_", "-")+".ko") || strings.HasSuffix(path, "/"+d.module+".ko")
		}
		require.True(t, found, "the ramdisk has no %s, which %s needs", d.module, d.name)
	}
	// These do nothing without their firmware.
	for _, firmware := range []string{"bnx2/", "bnx2x/", "qed/", "cxgb4/", "intel/ice/ddp/"} {
		found := false
		for path, f := range files {
			found = found || strings.HasPrefix(path, "lib/firmware/"+firmware) && f.From != ""
		}
		require.True(t, found, "the ramdisk has no firmware below %s", firmware)
	}
	// A link without what it leads to is no firmware.
	for path, f := range files {
		if f.Link != "" {
			require.Contains(t, files, filepath.Join(filepath.Dir(path), f.Link), path)
		}
	}
}

// The kernel and the initrd without the programs have room for an agent below 80 MB.
func TestTheSameBytesTwice(t *testing.T) {
	needApt(t)
	program := filepath.Join(t.TempDir(), "init")
	require.NoError(t, os.WriteFile(program, []byte("a program\n"), 0o755))
	var built []string
	for range 2 {
		c := Config{Cache: cache, Out: t.TempDir(), Init: program, Agent: program, Log: os.Stderr}
		require.NoError(t, Build(t.Context(), c))
		b, err := os.ReadFile(filepath.Join(c.Out, SumsFile))
		require.NoError(t, err)
		built = append(built, string(b))
		size := int64(0)
		for _, name := range []string{KernelFile, InitrdFile} {
			info, err := os.Stat(filepath.Join(c.Out, name))
			require.NoError(t, err)
			require.NotZero(t, info.Size(), name)
			size += info.Size()
		}
		require.Less(t, size, int64(40e6))
	}
	require.Equal(t, built[0], built[1])
	require.Equal(t, 3, strings.Count(built[0], "\n"))
}

func TestAMissingProgramIsNamed(t *testing.T) {
	err := Build(t.Context(), Config{Cache: t.TempDir(), Out: t.TempDir(), Init: "/nowhere/init", Log: os.Stderr})
	require.ErrorContains(t, err, "/nowhere/init")
}
