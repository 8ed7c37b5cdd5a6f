package bootloader_test

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/bootloader"
)

const root = "8a1d2a4e-6f7f-4f0f-9a39-0f1c2a3b4c5d"

func image(files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, content := range files {
		out[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return out
}

func TestFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the names are those of amd64")
	}
	const led = "search --no-floppy --fs-uuid --set=root " + root + "\nset prefix=($root)/boot/grub\nconfigfile $prefix/grub.cfg\n"
	for name, c := range map[string]struct {
		image, want map[string]string
		absent      []string
	}{
		"below /boot/efi": {
			map[string]string{
				"boot/grub/grub.cfg": "x", "boot/efi/EFI/fedora/shimx64.efi": "shim", "boot/efi/EFI/fedora/grubx64.efi": "grub", "boot/efi/EFI/fedora/mmx64.efi": "mm",
				"boot/efi/EFI/fedora/grub.cfg": "search of the machine that made it",
			}, map[string]string{
				"EFI/BOOT/BOOTX64.EFI": "shim", "EFI/BOOT/grubx64.efi": "grub", "EFI/BOOT/mmx64.efi": "mm", "EFI/fedora/shimx64.efi": "shim",
				"EFI/fedora/grub.cfg": led, "EFI/BOOT/grub.cfg": led,
			}, nil,
		},
		"a default loader stays": {
			map[string]string{"boot/grub/grub.cfg": "x", "boot/efi/EFI/Boot/bootx64.efi": "own", "boot/efi/EFI/debian/grubx64.efi": "grub", "boot/efi/EFI/debian/grub.cfg": root},
			map[string]string{"EFI/Boot/bootx64.efi": "own", "EFI/debian/grub.cfg": root},
			[]string{"EFI/BOOT/BOOTX64.EFI"},
		},
		"signed packages of Ubuntu": {
			map[string]string{
				"boot/grub/grub.cfg": "x", "etc/os-release": "NAME=Ubuntu\nID=ubuntu\n", "usr/lib/shim/shimx64.efi.signed.latest": "shim",
				"usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "grub",
			}, map[string]string{"EFI/BOOT/BOOTX64.EFI": "shim", "EFI/BOOT/grubx64.efi": "grub", "EFI/ubuntu/grubx64.efi": "grub", "EFI/ubuntu/grub.cfg": led}, nil,
		},
		"GRUB without shim": {
			map[string]string{"boot/grub/grub.cfg": "x", "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "grub"},
			map[string]string{"EFI/BOOT/BOOTX64.EFI": "grub", "EFI/debian/grub.cfg": led},
			nil,
		},
		"no configuration of GRUB": {
			map[string]string{
				"usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "grub", "boot/vmlinuz-6.9.0": "", "boot/vmlinuz-6.10.0": "", "boot/initrd.img-6.10.0": "",
				"boot/vmlinuz-0-rescue-1": "", "etc/default/grub": "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet $(reboot)\"\nGRUB_CMDLINE_LINUX='console=ttyS0'\n",
			}, map[string]string{
				"EFI/BOOT/grub.cfg": "search --no-floppy --fs-uuid --set=root " + root + "\nset timeout=0\nmenuentry Linux {\n  linux /boot/vmlinuz-6.10.0 root=UUID=" + root +
					" ro quiet console=ttyS0\n  initrd /boot/initrd.img-6.10.0\n}\n",
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := bootloader.Files(image(c.image), root)
			require.NoError(t, err)
			for path, content := range c.want {
				require.Equal(t, content, string(files[path]), path)
			}
			for _, path := range c.absent {
				require.NotContains(t, files, path)
			}
		})
	}
	for words, files := range map[string]map[string]string{
		"no boot loader for UEFI": {"boot/grub/grub.cfg": "x"},
		"nor a kernel in /boot":   {"usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed": "grub"},
	} {
		_, err := bootloader.Files(image(files), root)
		require.ErrorContains(t, err, words)
	}
}
