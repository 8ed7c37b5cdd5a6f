package system_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat32"
	"github.com/diskfs/go-diskfs/partition/gpt"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/ramdisk"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// bootable returns a disk with an EFI system partition, and files in that by their paths.
func bootable(t *testing.T, size int64, files map[string][]byte) []byte {
	t.Helper()
	const first, sector = 2048, 512
	name := filepath.Join(t.TempDir(), "disk")
	d, err := file.CreateFromPath(name, size)
	require.NoError(t, err)
	raw, err := d.Writable()
	require.NoError(t, err)
	last := size/sector - first
	require.NoError(t, (&gpt.Table{
		LogicalSectorSize: sector, PhysicalSectorSize: sector, ProtectiveMBR: true,
		Partitions: []*gpt.Partition{{Index: 1, Start: first, End: uint64(last), Type: gpt.EFISystemPartition, Name: "esp"}},
	}).Write(raw, size))
	fs, err := fat32.Create(d, (last-first+1)*sector, first*sector, sector, "ESP", false)
	require.NoError(t, err)
	for path, content := range files {
		require.NoError(t, fs.Mkdir(filepath.Dir(path)))
		to, err := fs.OpenFile(path, os.O_CREATE|os.O_RDWR)
		require.NoError(t, err)
		_, err = to.Write(content)
		require.NoError(t, err)
		require.NoError(t, to.Close())
	}
	require.NoError(t, d.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}

// guestLine is the kernel's command line of a deployed system with the program test/system/guest.
const guestLine = "no_timer_check ipa-api-url=http://10.0.2.2:1"

func content(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return b
}

// home is where deployed systems send what they have read.
type home struct {
	url   string // as a virtual machine reaches it
	calls chan []byte
}

func newHome(t *testing.T) *home {
	t.Helper()
	h := &home{calls: make(chan []byte, 1)}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { //nolint:gosec // a test
		if b, err := io.ReadAll(r.Body); err == nil {
			select {
			case h.calls <- b:
			default: // it was sent before, and the answer was lost
			}
		}
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	h.url = strings.Replace(srv.URL, "127.0.0.1", "10.0.2.2", 1) + "/"
	return h
}

// called waits until the system on a machine has called, and returns the files that it has read from its config drive.
func (h *home) called(n *vm) (files map[string]string) {
	n.t.Helper()
	select {
	case sent := <-h.calls:
		require.NoError(n.t, jsonvalue.Unmarshal(sent, &files))
	case <-time.After(patience):
		n.t.Fatal("the deployed system has not called: ", effects(n.hardware().Actions), n.printed())
	}
	return files
}

// A machine with UEFI boots a kernel and a ramdisk that its node names, and the deployed system boots, reads its config drive and sends home what it has read.
func TestADeployedSystemReadsItsConfigDrive(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	home := newHome(t)
	n := virtual(t, "vm-uefi", builtISO(t), sim.Config{Firmware: sim.UEFI}, "TEMPER_ALLOW_LOOPBACK=true")
	files := httptest.NewServer(http.FileServer(http.Dir(builtRamdisk(t, "./cmd/temper-agent", "no_timer_check"))))
	t.Cleanup(files.Close)
	n.patch("driver_info/deploy_kernel", files.URL+"/"+ramdisk.KernelFile)
	n.patch("driver_info/deploy_ramdisk", files.URL+"/"+ramdisk.InitrdFile)
	n.patch("driver_info/kernel_append_params", "no_timer_check")
	program := content(t, filepath.Join(builtRamdisk(t, "./test/system/guest", guestLine), ramdisk.ImageFile))
	n.diskImage(bootable(t, 96<<20, map[string][]byte{"/EFI/BOOT/BOOTX64.EFI": program}))
	network := map[string]any{"links": []any{map[string]any{"id": "l0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}}
	deploy := n.provision("active", map[string]any{"configdrive": map[string]any{
		"meta_data": map[string]any{"hostname": "db-7", "uuid": n.uuid}, "network_data": network,
		"user_data": home.url,
	}})
	n.prints("UEFI starts the image first")
	n.done(deploy, "active")

	drive := home.called(n)
	require.Contains(t, drive["openstack/latest/meta_data.json"], `"db-7"`)
	require.Contains(t, drive["openstack/latest/network_data.json"], `"52:54:00:00:00:01"`)
	require.True(t, bytes.HasPrefix([]byte(drive["openstack/latest/user_data"]), []byte("http://10.0.2.2:")))
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_off On->Off")
}
