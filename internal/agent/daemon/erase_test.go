//go:build linux

package daemon_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/daemon"
	"go.temper.dev/temper/internal/agent/selferase"
	"go.temper.dev/temper/internal/agent/selferase/erasetest"
	"go.temper.dev/temper/internal/fault"
)

// The disks of QEMU have neither secure erase nor locking, so that these are files with the commands of erasetest.
func TestDisksEraseThemselves(t *testing.T) {
	t.Parallel()
	const size, tenant = 12 << 20, 0xff
	zeroes := func(path string) func() {
		return func() { _ = os.WriteFile(path, make([]byte, size), 0o600) }
	}
	for name, c := range map[string]struct {
		step     string
		internal map[string]any
		disks    map[string]*erasetest.Disk // by the file's name; nil = it has no commands
		lies     string                     // the disk that says that it has erased itself and has not
		pattern  string                     // the disk that has the tenant's data when it has erased itself
		words    []string                   // of the evidence or, if the step fails, of the error
		fails    bool
		kept     []string // disks that still have their tenant's data
	}{
		"by their own commands": {
			disks: map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA, Enhanced: true}, "nvme0n1": {Is: selferase.KindNVMe, Format: true}, "vda": nil},
			words: []string{
				`nvme0n1 was erased by NVMe format: 12.6 MB in .*, verified at 64 places, begun`, `sda was erased by ATA enhanced secure erase: .*, verified at 64 places, begun`,
				`vda was overwritten with zeros: .*, verified at 64 places, begun`,
			},
		},
		"but for a frozen one, which holds up no other": {
			disks: map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA, Frozen: true}, "sdb": {Is: selferase.KindATA}}, fails: true, kept: []string{"sda"},
			words: []string{`sda is not erased: its security commands are frozen by the firmware.*; .*sdb was erased by ATA secure erase`},
		},
		"but for a frozen one, where a setting lets it go on": {
			internal: map[string]any{"agent_continue_if_secure_erase_failed": true}, disks: map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA, Frozen: true}},
			words: []string{`sda was overwritten with zeros: .*, verified at 64 places, begun .*Z; it did not erase itself: its security commands are frozen`},
		},
		"but for one that encrypts itself": {
			disks: map[string]*erasetest.Disk{"nvme0n1": {Is: selferase.KindNVMe, Format: true, Locking: 6}}, fails: true, kept: []string{"nvme0n1"},
			words: []string{`nvme0n1 is not erased: it encrypts itself, and is locked by an owner`},
		},
		"but for one that only claims to have done so": {
			disks: map[string]*erasetest.Disk{"nvme0n1": {Is: selferase.KindNVMe, Format: true}}, lies: "nvme0n1", fails: true, kept: []string{"nvme0n1"},
			words: []string{`nvme0n1 is not erased: it reports that it has erased itself, but at byte 0 it still has what it had before`},
		},
		"also one whose erased state is the pattern that it had before": {
			disks: map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA, Enhanced: true}}, pattern: "sda", kept: []string{"sda"},
			words: []string{`sda was erased by ATA enhanced secure erase: .*, verified at 64 places`},
		},
		"unless that is switched off": {
			internal: map[string]any{"agent_enable_ata_secure_erase": false, "agent_enable_nvme_secure_erase": false},
			disks:    map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA, Frozen: true}, "nvme0n1": {Is: selferase.KindNVMe, Format: true}},
			words:    []string{`nvme0n1 was overwritten`, `sda was overwritten`},
		},
		"the express way": {
			step: "erase_devices_express", kept: []string{"sda"},
			disks: map[string]*erasetest.Disk{"sda": {Is: selferase.KindATA}, "nvme0n1": {Is: selferase.KindNVMe, SanitizeCrypto: true}},
			words: []string{`nvme0n1 was erased by NVMe sanitize with a new key`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var paths []string
			for _, file := range []string{"nvme0n1", "sda", "sdb", "vda"} {
				if d, ok := c.disks[file]; ok {
					path := filepath.Join(dir, file)
					paths = append(paths, path)
					require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte{tenant}, size), 0o600))
					if d != nil && c.lies != file {
						d.Erased = zeroes(path)
						if c.pattern == file {
							d.Erased = func() { _ = os.WriteFile(path, bytes.Repeat([]byte{tenant}, size), 0o600) }
						}
					}
				}
			}
			r := start(t, newIronic(t), func(cfg *daemon.Config) {
				cfg.Disks = paths
				cfg.SelfErase = func(path string) (selferase.Device, error) {
					if d := c.disks[filepath.Base(path)]; d != nil {
						return d, nil
					}
					return &erasetest.Disk{}, nil
				}
			})
			step := c.step
			if step == "" {
				step = "erase_devices"
			}
			begun, err := r.Start(t.Context(), agent.ExecuteCleanStep, agent.RunStep{
				Step: agent.Step{Step: step, Interface: "deploy"}, Node: map[string]any{"driver_internal_info": c.internal},
			})
			require.NoError(t, err)
			done := r.finish(t, begun.ID)
			if c.fails {
				require.Equal(t, agent.Failed, done.Status)
				require.Equal(t, "BlockDeviceEraseError", done.Error.Type)
				require.Equal(t, fault.DiskNotErased, agent.CauseOf(done.Error))
				require.Regexp(t, c.words[0], done.Error.Text())
			} else {
				require.Equal(t, agent.Succeeded, done.Status, done.Error)
				require.Len(t, done.Erasures(), len(c.words))
				for i, e := range done.Erasures() {
					require.Regexp(t, c.words[i], e.Words())
					require.Contains(t, e.Words(), ", begun 20")
				}
			}
			for _, path := range paths {
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				has := bytes.Contains(content, []byte{tenant})
				kept := false
				for _, k := range c.kept {
					kept = kept || filepath.Base(path) == k
				}
				require.Equal(t, kept, has, path)
			}
		})
	}
}
