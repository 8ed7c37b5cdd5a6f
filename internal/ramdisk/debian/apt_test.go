package debian_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/debian"
	"go.temper.dev/temper/internal/testenv"
)

func TestPackages(t *testing.T) {
	testenv.Need(t, "apt-get", "apt")
	testenv.Need(t, "dpkg-deb", "dpkg")
	apt, err := debian.Open(t.Context(), "../../../.temper/ramdisk", os.Stderr)
	require.NoError(t, err)
	defer func() { require.NoError(t, apt.Close()) }()

	const small = "firmware-bnx2" // 130 KB, and not in Debian's component main
	packages, err := apt.Fetch(t.Context(), small)
	require.NoError(t, err)
	require.Len(t, packages, 1)
	require.Equal(t, small, packages[0].Name)
	dir, err := apt.Unpack(t.Context(), packages[0])
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(dir, "lib/firmware/bnx2/*.fw"))
	require.NoError(t, err)
	require.NotEmpty(t, found)

	// A file that is not what Debian's signed list says is not used.
	require.NoError(t, os.WriteFile(packages[0].File, []byte("half of a pack"), 0o600))
	again, err := apt.Fetch(t.Context(), small)
	require.NoError(t, err)
	require.Equal(t, packages, again)
	info, err := os.Stat(again[0].File)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(100_000))

	_, err = apt.Fetch(t.Context(), small, "temper-no-such-package")
	require.ErrorContains(t, err, "temper-no-such-package")
	depends, err := apt.Depends(t.Context(), "linux-image-amd64")
	require.NoError(t, err)
	require.Contains(t, depends[0], "linux-image-")
}

func TestWithoutAptNothingIsBuilt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := debian.Open(t.Context(), t.TempDir(), os.Stderr)
	require.ErrorContains(t, err, "apt-get is not here")
}
