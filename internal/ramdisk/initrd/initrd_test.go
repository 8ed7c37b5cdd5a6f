package initrd_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/ramdisk/initrd"
)

func TestFilesComeBack(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(program, []byte("bytes of a program"), 0o600))
	var b bytes.Buffer
	require.NoError(t, initrd.Write(&b, initrd.Files{
		"init":              {From: program, Mode: 0o755},
		"sbin/modprobe":     {Link: "/init"},
		"lib/modules/6/dep": {Content: []byte("kernel/a.ko:\n")},
	}))
	z, err := zstd.NewReader(&b)
	require.NoError(t, err)
	defer z.Close()
	type file struct {
		mode    cpio.FileMode
		content string
	}
	var order []string
	files := map[string]file{}
	for r := cpio.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.True(t, h.ModTime.Unix() <= 0 && h.Uid == 0 && h.Guid == 0, h.Name)
		order = append(order, h.Name)
		files[h.Name] = file{h.Mode, string(content) + h.Linkname}
	}
	// A folder stands before what is in it: the kernel makes no folders by itself.
	require.Equal(t, []string{"init", "lib", "lib/modules", "lib/modules/6", "lib/modules/6/dep", "sbin", "sbin/modprobe"}, order)
	require.Equal(t, file{cpio.TypeReg | 0o755, "bytes of a program"}, files["init"])
	require.Equal(t, file{cpio.TypeSymlink | 0o777, "/init"}, files["sbin/modprobe"])
	require.Equal(t, file{cpio.TypeReg | 0o644, "kernel/a.ko:\n"}, files["lib/modules/6/dep"])
	require.Equal(t, file{cpio.TypeDir | 0o755, ""}, files["lib/modules"])
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	err := initrd.Write(io.Discard, initrd.Files{"init": {From: "/nowhere"}})
	require.ErrorContains(t, err, "initrd: init: open /nowhere")
}
