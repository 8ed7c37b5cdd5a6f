//go:build linux

package daemon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/fat32"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

func TestADeployOfAnImageOfAPartition(t *testing.T) {
	t.Parallel()
	tree, path := t.TempDir(), filepath.Join(t.TempDir(), "root.img")
	for name, content := range map[string]string{"boot/grub/grub.cfg": "x", "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "grub"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(content), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), "/usr/sbin/mke2fs", "-q", "-t", "ext4", "-d", tree, path, "16M").CombinedOutput()
	require.NoError(t, err, string(out))
	image, err := os.ReadFile(path)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(image) }))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(image)
	info := agent.ImageInfo{
		ID: "root.img", URLs: []string{server.URL}, DiskFormat: "raw", HashAlgo: "sha256", HashValue: hex.EncodeToString(sum[:]), ImageType: agent.PartitionImage,
		PartitionLayout: agent.PartitionLayout{RootMB: 1024, DeployBootMode: "uefi", BootOption: "local", DiskLabel: "gpt"},
	}
	r := start(t, newIronic(t), nil)
	write := func(info agent.ImageInfo) agent.Result {
		begun, err := r.Start(t.Context(), agent.ExecuteDeployStep, agent.RunStep{Step: agent.Step{Step: "write_image", Interface: "deploy", Args: map[string]any{"image_info": info}}})
		require.NoError(t, err)
		return r.finish(t, begun.ID)
	}
	for words, change := range map[string]func(*agent.ImageInfo){
		"by UEFI only":                 func(i *agent.ImageInfo) { i.DeployBootMode = "bios" },
		"gpt only":                     func(i *agent.ImageInfo) { i.DiskLabel = "msdos" },
		"does not preserve":            func(i *agent.ImageInfo) { i.PreserveEphemeral = true },
		"with ext4 only, not with xfs": func(i *agent.ImageInfo) { i.EphemeralMB, i.EphemeralFormat = 1, "xfs" },
		"'root_mb' does not say":       func(i *agent.ImageInfo) { i.RootMB = 0 },
	} {
		wrong := info
		change(&wrong)
		require.Contains(t, write(wrong).Error.Text(), words)
	}
	done := write(info)
	require.Equal(t, agent.Succeeded, done.Status, "%+v", done.Error)
	ids, err := r.GetPartitionUUIDs(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"efi system partition": "1", "root": "2"}, ids.Partitions)

	install := func(p agent.BootloaderParams) agent.Result {
		begun, err := r.Start(t.Context(), agent.InstallBootloader, p)
		require.NoError(t, err)
		return r.finish(t, begun.ID)
	}
	require.Contains(t, install(agent.BootloaderParams{RootUUID: ids.RootUUID, TargetBootMode: "bios"}).Error.Text(), "by UEFI only")
	require.Contains(t, install(agent.BootloaderParams{RootUUID: "11111111-6f7f-4f0f-9a39-0f1c2a3b4c5d"}).Error.Text(), "No partition with UUID")
	done = install(agent.BootloaderParams{RootUUID: ids.RootUUID, EFISystemUUID: ids.EFISystem, TargetBootMode: "uefi"})
	require.Equal(t, agent.Succeeded, done.Status, "%+v", done.Error)
	f, err := os.Open(r.disk)
	require.NoError(t, err)
	defer f.Close()
	esp, err := fat32.Read(file.New(f, true), 550<<20, 1<<20, 512)
	require.NoError(t, err)
	loader, err := esp.ReadFile("/EFI/BOOT/BOOTX64.EFI")
	require.NoError(t, err)
	require.Equal(t, "grub", string(loader))
	config, err := esp.ReadFile("/EFI/BOOT/grub.cfg")
	require.NoError(t, err)
	require.Contains(t, string(config), string(ids.RootUUID))
}
