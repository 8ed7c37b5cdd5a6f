// Package netboot serves what firmware loads from the network before iPXE runs, which then loads the rest by HTTP.
package netboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pin/tftp/v3"
	"go.uber.org/zap"
)

// Loaders are the builds of iPXE that firmware may ask for, by the names of Debian's package ipxe: for a BIOS, with and without iPXE's own
// drivers of network cards, and for UEFI.
var Loaders = []string{"undionly.kpxe", "ipxe.pxe", "snponly.efi", "ipxe.efi"}

const (
	tftpTimeout = 2 * time.Second // until a block that was not confirmed is sent again
	tftpRetries = 5
)

// TFTP serves boot loaders by TFTP (RFC 1350, with the options of RFC 2347 to 2349). It takes nothing.
type TFTP struct {
	Dir string // of the loaders
	Log *zap.Logger
}

// Listen opens the socket, at "host:port".
func (t *TFTP) Listen(address string) (*net.UDPConn, error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("serve TFTP: %w", err)
	}
	conn, err := net.ListenUDP("udp", at)
	if err != nil {
		return nil, fmt.Errorf("serve TFTP: %w", err)
	}
	return conn, nil
}

// Serve answers until ctx ends.
func (t *TFTP) Serve(ctx context.Context, conn *net.UDPConn) error {
	s := tftp.NewServer(t.read, nil)
	s.SetTimeout(tftpTimeout)
	s.SetRetries(tftpRetries)
	s.SetAnticipate(0)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(conn) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve TFTP: %w", err)
	case <-ctx.Done():
	}
	// The library waits for transfers that are under way, as long as those last. Firmware that is cut off asks again.
	_ = conn.Close()
	return nil
}

// read sends a loader. Firmware also asks with a leading slash, and with a backslash.
func (t *TFTP) read(name string, to io.ReaderFrom) error {
	from := ""
	if transfer, ok := to.(tftp.OutgoingTransfer); ok {
		remote := transfer.RemoteAddr()
		from = remote.String()
	}
	loader := filepath.Base(filepath.ToSlash(name))
	if !slices.Contains(Loaders, loader) {
		t.Log.Info("TFTP: a file that is not served was asked for", zap.String("file", name), zap.String("from", from))
		return errors.New("there is no such file")
	}
	f, err := os.Open(filepath.Join(t.Dir, loader))
	if errors.Is(err, fs.ErrNotExist) {
		t.Log.Warn("TFTP: a boot loader is missing (Debian: apt-get install ipxe)", zap.String("file", loader), zap.String("folder", t.Dir), zap.String("from", from))
		return errors.New("there is no such file")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		if sized, ok := to.(tftp.OutgoingTransfer); ok {
			sized.SetSize(info.Size())
		}
	}
	n, err := to.ReadFrom(f)
	t.Log.Info("TFTP: a boot loader was sent", zap.String("file", loader), zap.Int64("bytes", n), zap.String("from", from), zap.Error(err))
	return err
}
