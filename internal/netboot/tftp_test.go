package netboot_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pin/tftp/v3"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/netboot"
)

func TestFirmwareLoadsIPXEByTFTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loader := bytes.Repeat([]byte("iPXE"), 10_000)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ipxe.efi"), loader, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("x"), 0o600))
	s := &netboot.TFTP{Dir: dir, Log: zap.NewNop()}
	conn, err := s.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, conn) }()

	c, err := tftp.NewClient(conn.LocalAddr().String())
	require.NoError(t, err)
	c.SetBlockSize(1400)
	for _, name := range []string{"ipxe.efi", "/ipxe.efi"} {
		w, err := c.Receive(name, "octet")
		require.NoError(t, err, name)
		var got bytes.Buffer
		_, err = w.WriteTo(&got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(loader, got.Bytes()), name)
	}
	for _, name := range []string{"secret", "../secret", "undionly.kpxe", "/etc/passwd"} {
		_, err := c.Receive(name, "octet")
		require.ErrorContains(t, err, "no such file", name)
	}
	_, err = c.Send("ipxe.efi", "octet")
	require.Error(t, err, "it takes nothing")
	stop()
	require.NoError(t, <-ended)
}
