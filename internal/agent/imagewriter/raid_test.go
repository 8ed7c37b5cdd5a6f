//go:build linux

package imagewriter_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/imagewriter"
)

func TestTheESPIsCopiedToAnotherDisk(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "image"), filepath.Join(dir, "esp")
	require.NoError(t, os.WriteFile(from, gptImage(t), 0o600))
	image, err := imagewriter.OpenToRead(from)
	require.NoError(t, err)
	open := func(size int64) *imagewriter.Target {
		require.NoError(t, os.WriteFile(to, []byte("of an earlier image"), 0o600))
		require.NoError(t, os.Truncate(to, size))
		esp, err := imagewriter.Open(to)
		require.NoError(t, err)
		return esp
	}
	small := open(mib / 2)
	require.ErrorContains(t, image.CopyESP(small), "and there is room for 524288")
	require.NoError(t, small.Close())
	esp := open(8 * mib)
	require.NoError(t, image.CopyESP(esp))
	require.NoError(t, esp.Close())
	want := append([]byte("the content of the EFI system partition"), 0)
	require.Equal(t, want, content(t, to)[:len(want)])
	require.NoError(t, image.CloseRead())
}
