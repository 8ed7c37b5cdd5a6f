package ramdisk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/ramdisk/initrd"
	"go.temper.dev/temper/internal/testenv"
)

// cache is the folder that make ramdisk uses, so that tests download a kernel once.
const cache = "../../.temper/ramdisk"

// needApt makes sure that this machine can fetch and unpack Debian's packages.
func needApt(t *testing.T) {
	t.Helper()
	testenv.Need(t, "apt-get", "apt")
	testenv.Need(t, "dpkg-deb", "dpkg")
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

// config is that of a ramdisk with an agent that only tells how it was called.
func config(t *testing.T, out string) Config {
	t.Helper()
	return Config{
		Cache: cache, Out: out, Log: os.Stderr,
		Init: program(t, "./init"), Agent: program(t, "./testdata/agent"),
		// -1: QEMU ends at once when the kernel stops. no_timer_check: beside other work the emulated timer may seem not to work.
		Append: "panic=-1 no_timer_check " + apiURL,
	}
}

// built is what the tests here share, because a build computes for 15 s.
var built struct {
	sync.Mutex
	config Config
}

// builtRamdisk returns a ramdisk that is built already.
func builtRamdisk(t *testing.T) Config {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.config.Out == "" {
		c := config(t, filepath.Join(shared, "ramdisk"))
		require.NoError(t, Build(t.Context(), c))
		built.config = c
	}
	return built.config
}

// shared is a folder that is there until the last test has ended.
var shared string

func TestMain(m *testing.M) {
	var err error
	if shared, err = os.MkdirTemp("", "temper-ramdisk-"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(shared); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// The kernel and the initrd have room for an agent below 80 MB.
func TestTheSameBytesTwice(t *testing.T) {
	needApt(t)
	testenv.OnlyInAll(t, "a second build takes 20 seconds of a core, and package iso builds the same CD twice")
	first := builtRamdisk(t)
	second := config(t, t.TempDir())
	require.NoError(t, Build(t.Context(), second))
	var sums []string
	for _, c := range []Config{first, second} {
		b, err := os.ReadFile(filepath.Join(c.Out, SumsFile))
		require.NoError(t, err)
		sums = append(sums, string(b))
	}
	require.Equal(t, sums[0], sums[1])
	require.Equal(t, 5, strings.Count(sums[0], "\n"))
	files, err := os.ReadDir(second.Out)
	require.NoError(t, err)
	require.Len(t, files, 6, "the files that have a sum, and the sums")
	size := int64(0)
	for _, name := range []string{KernelFile, InitrdFile} {
		info, err := os.Stat(filepath.Join(second.Out, name))
		require.NoError(t, err)
		require.NotZero(t, info.Size(), name)
		size += info.Size()
	}
	require.Less(t, size, int64(40e6))
}

func TestAMissingProgramIsNamed(t *testing.T) {
	err := Build(t.Context(), Config{Cache: t.TempDir(), Out: t.TempDir(), Init: "/nowhere/init", Log: os.Stderr})
	require.ErrorContains(t, err, "/nowhere/init")
}

func TestACommandLineThatNoLoaderHandsOn(t *testing.T) {
	for added, want := range map[string]string{
		"ipa-api-url=http://a\npanic=0":                   `can't have '\n' in it`,
		"ipa-api-url=http://a?b=c&d":                      "can't have '&' in it",
		"ipa-api-url=http://" + strings.Repeat("a", 2000): "it can have 2047",
	} {
		c := Config{Cache: t.TempDir(), Out: t.TempDir(), Init: "/nowhere/init", Append: added}
		require.ErrorContains(t, Build(t.Context(), c), want)
		c.Append = "ipa-api-url=http://[fd00::1]:6385/a,http://b:6385 ipa-insecure=1"
		require.ErrorContains(t, Build(t.Context(), c), "/nowhere/init")
	}
}
