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

// bootable returns a disk that boots a program by UEFI.
func bootable(t *testing.T, program string) []byte {
	t.Helper()
	const size, first, sector = 96 << 20, 2048, 512
	name := filepath.Join(t.TempDir(), "disk")
	d, err := file.CreateFromPath(name, size)
	require.NoError(t, err)
	raw, err := d.Writable()
	require.NoError(t, err)
	const last = size/sector - first
	require.NoError(t, (&gpt.Table{
		LogicalSectorSize: sector, PhysicalSectorSize: sector, ProtectiveMBR: true,
		Partitions: []*gpt.Partition{{Index: 1, Start: first, End: last, Type: gpt.EFISystemPartition, Name: "esp"}},
	}).Write(raw, size))
	fs, err := fat32.Create(d, (last-first+1)*sector, first*sector, sector, "ESP", false)
	require.NoError(t, err)
	require.NoError(t, fs.Mkdir("/EFI/BOOT"))
	to, err := fs.OpenFile("/EFI/BOOT/BOOTX64.EFI", os.O_CREATE|os.O_RDWR)
	require.NoError(t, err)
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	_, err = to.Write(content)
	require.NoError(t, err)
	require.NoError(t, to.Close())
	require.NoError(t, d.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return b
}

// A machine with UEFI boots a kernel and a ramdisk that its node names, and the deployed system boots, reads its config drive and sends home what it has read.
func TestADeployedSystemReadsItsConfigDrive(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	calls := make(chan []byte, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	require.NoError(t, err)
	home := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { //nolint:gosec // a test
		if b, err := io.ReadAll(r.Body); err == nil {
			select {
			case calls <- b:
			default: // it was sent before, and the answer was lost
			}
		}
	})}}
	home.Start()
	t.Cleanup(home.Close)

	n := virtual(t, "vm-uefi", builtISO(t), sim.Config{Firmware: sim.UEFI}, "TEMPER_ALLOW_LOOPBACK=true")
	files := httptest.NewServer(http.FileServer(http.Dir(builtRamdisk(t, "./cmd/temper-agent", "no_timer_check"))))
	t.Cleanup(files.Close)
	n.patch("driver_info/deploy_kernel", files.URL+"/"+ramdisk.KernelFile)
	n.patch("driver_info/deploy_ramdisk", files.URL+"/"+ramdisk.InitrdFile)
	n.patch("driver_info/kernel_append_params", "no_timer_check")
	n.diskImage(bootable(t, filepath.Join(builtRamdisk(t, "./test/system/guest", "no_timer_check ipa-api-url=http://10.0.2.2:1"), ramdisk.ImageFile)))
	network := map[string]any{"links": []any{map[string]any{"id": "l0", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:01"}}}
	deploy := n.provision("active", map[string]any{"configdrive": map[string]any{
		"meta_data": map[string]any{"hostname": "db-7", "uuid": n.uuid}, "network_data": network,
		"user_data": strings.Replace(home.URL, "127.0.0.1", "10.0.2.2", 1) + "/",
	}})
	n.done(deploy, "active")

	var drive map[string]string
	select {
	case sent := <-calls:
		require.NoError(t, jsonvalue.Unmarshal(sent, &drive))
	case <-time.After(patience):
		t.Fatal("the deployed system has not called: ", effects(n.hardware().Actions))
	}
	require.Contains(t, drive["openstack/latest/meta_data.json"], `"db-7"`)
	require.Contains(t, drive["openstack/latest/network_data.json"], `"52:54:00:00:00:01"`)
	require.True(t, bytes.HasPrefix([]byte(drive["openstack/latest/user_data"]), []byte("http://10.0.2.2:")))
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_off On->Off")
}
