package selferase_test

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent/selferase"
	"go.temper.dev/temper/internal/agent/selferase/erasetest"
)

var everything = selferase.Allowed{ATA: true, NVMe: true}

const lockingEnabled, locked = 0x02, 0x06 // flags of TCG's locking feature

func TestErase(t *testing.T) {
	t.Parallel()
	ours, another := make([]byte, 32), bytes.Repeat([]byte{7}, 32)
	for name, c := range map[string]struct {
		disk   *erasetest.Disk
		method string
		why    string // of an Impossible; "-" = the disk has no command
		sent   []byte
	}{
		"another kind of disk": {disk: &erasetest.Disk{Is: selferase.KindOther}, why: "-"},

		"ATA":                  {disk: &erasetest.Disk{Is: selferase.KindATA}, method: selferase.ATANormal, sent: []byte{0xf1, 0xf3, 0xf4}},
		"ATA, enhanced":        {disk: &erasetest.Disk{Is: selferase.KindATA, Enhanced: true}, method: selferase.ATAEnhanced, sent: []byte{0xf1, 0xf3, 0xf4}},
		"ATA without security": {disk: &erasetest.Disk{Is: selferase.KindATA, NoSecurity: true}, why: "-"},
		"no ATA behind SCSI":   {disk: &erasetest.Disk{Is: selferase.KindATA, Refuse: []byte{0xec}}, why: "-"},
		"ATA whose enhanced erase fails": {
			disk: &erasetest.Disk{Is: selferase.KindATA, Enhanced: true, Refuse: []byte{erasetest.EnhancedErase}}, method: selferase.ATANormal,
			sent: []byte{0xf1, 0xf3, 0xf4, 0xf6, 0xf1, 0xf3, 0xf4},
		},
		"ATA, frozen": {disk: &erasetest.Disk{Is: selferase.KindATA, Frozen: true}, why: "frozen by the firmware"},
		"ATA with the password of an earlier try": {
			disk: &erasetest.Disk{Is: selferase.KindATA, Password: ours}, method: selferase.ATANormal, sent: []byte{0xf6, 0xf1, 0xf3, 0xf4},
		},
		"ATA, locked with the password of an earlier try": {
			disk: &erasetest.Disk{Is: selferase.KindATA, Password: ours, Locked: true}, method: selferase.ATANormal, sent: []byte{0xf2, 0xf6, 0xf1, 0xf3, 0xf4},
		},
		"ATA with the password of another":        {disk: &erasetest.Disk{Is: selferase.KindATA, Password: another}, why: "a password that is not known", sent: []byte{0xf6}},
		"ATA, locked with another's password":     {disk: &erasetest.Disk{Is: selferase.KindATA, Password: another, Locked: true}, why: "locked with a password", sent: []byte{0xf2}},
		"ATA that only claims to have erased":     {disk: &erasetest.Disk{Is: selferase.KindATA, KeepsPassword: true}, why: "it still has the password", sent: []byte{0xf1, 0xf3, 0xf4, 0xf6}},
		"ATA that refuses to erase":               {disk: &erasetest.Disk{Is: selferase.KindATA, Refuse: []byte{0xf4}}, why: "secure erase has failed", sent: []byte{0xf1, 0xf3, 0xf4, 0xf6}},
		"ATA that refuses a password":             {disk: &erasetest.Disk{Is: selferase.KindATA, Refuse: []byte{0xf1}}, why: "secure erase has failed", sent: []byte{0xf1}},
		"ATA that encrypts itself, locking on":    {disk: &erasetest.Disk{Is: selferase.KindATA, Locking: lockingEnabled}, why: "switched its locking on"},
		"ATA that encrypts itself, locked":        {disk: &erasetest.Disk{Is: selferase.KindATA, Locking: locked}, why: "is locked by an owner"},
		"ATA that encrypts itself, locking off":   {disk: &erasetest.Disk{Is: selferase.KindATA, Locking: 1}, method: selferase.ATANormal, sent: []byte{0xf1, 0xf3, 0xf4}},
		"ATA that denies knowing TCG's protocols": {disk: &erasetest.Disk{Is: selferase.KindATA, Locking: 1, Refuse: []byte{0x5c}}, method: selferase.ATANormal, sent: []byte{0xf1, 0xf3, 0xf4}},

		"NVMe without commands": {disk: &erasetest.Disk{Is: selferase.KindNVMe}, why: "-"},
		"NVMe, format":          {disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true}, method: selferase.FormatUser, sent: []byte{0x80}},
		"NVMe, format by key":   {disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, FormatCrypto: true}, method: selferase.FormatCrypto, sent: []byte{0x80}},
		"NVMe, format and sanitize": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, SanitizeBlock: true}, method: selferase.FormatUser, sent: []byte{0x80},
		},
		"NVMe, sanitize":        {disk: &erasetest.Disk{Is: selferase.KindNVMe, SanitizeBlock: true}, method: selferase.SanitizeBlock, sent: []byte{0x84}},
		"NVMe, sanitize by key": {disk: &erasetest.Disk{Is: selferase.KindNVMe, SanitizeBlock: true, SanitizeCrypto: true}, method: selferase.SanitizeCrypto, sent: []byte{0x84}},
		"NVMe that refuses format": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, SanitizeBlock: true, Refuse: []byte{0x80}}, method: selferase.SanitizeBlock, sent: []byte{0x80, 0x84},
		},
		"NVMe that refuses both": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, SanitizeBlock: true, Refuse: []byte{0x80, 0x84}}, sent: []byte{0x80, 0x84},
			why: "NVMe format has failed: the disk refused: aborted; NVMe sanitize has failed: the disk refused: aborted",
		},
		"NVMe whose sanitize fails": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, SanitizeBlock: true, SanitizeFails: true, Looks: 100}, why: "reports that it has failed", sent: []byte{0x84, 0x84},
		},
		"NVMe that sanitizes itself already": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, SanitizeCrypto: true, Sanitizing: 4, Looks: 3}, method: selferase.SanitizeCrypto,
		},
		"NVMe with other namespaces": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, SanitizeBlock: true, Namespaces: 1}, method: selferase.FormatUser, sent: []byte{0x80},
		},
		"NVMe that formats other namespaces, too": {
			disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, FormatsAll: true, SanitizeBlock: true, Namespaces: 1}, why: "-",
		},
		"NVMe that encrypts itself, locking on": {disk: &erasetest.Disk{Is: selferase.KindNVMe, Format: true, Locking: lockingEnabled}, why: "switched its locking on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, erased := c.disk, 0
			d.Erased = func() { erased++ }
			var method string
			var err error
			synctest.Test(t, func(t *testing.T) { method, err = selferase.Erase(t.Context(), d, everything) })
			require.Equal(t, c.method, method)
			require.Equal(t, c.sent, d.Sent())
			if c.method != "" {
				require.NoError(t, err)
				require.Equal(t, 1, erased)
				require.Nil(t, d.Password, "no password is left")
				return
			}
			require.Zero(t, erased)
			var why selferase.Impossible
			if c.why == "-" {
				require.ErrorIs(t, err, selferase.ErrNoCommand)
				return
			}
			require.ErrorAs(t, err, &why)
			require.Contains(t, why.Why, c.why)
		})
	}
}

func TestANamespaceIsFormattedAsItWas(t *testing.T) {
	t.Parallel()
	// LBA format 37 with metadata in the data, protection 2 at the beginning of the metadata.
	d := &erasetest.Disk{Is: selferase.KindNVMe, Format: true, FLBAS: 2<<5 | 1<<4 | 5, DPS: 1<<3 | 2}
	_, err := selferase.Erase(t.Context(), d, everything)
	require.NoError(t, err)
	require.Equal(t, []uint32{5 | 1<<4 | 2<<5 | 1<<8 | 1<<9 | 2<<12}, d.Words())
}

func TestCommandsThatAreSwitchedOffAreNotSent(t *testing.T) {
	t.Parallel()
	for _, d := range []*erasetest.Disk{{Is: selferase.KindATA}, {Is: selferase.KindNVMe, Format: true}} {
		_, err := selferase.Erase(t.Context(), d, selferase.Allowed{})
		require.ErrorIs(t, err, selferase.ErrNoCommand)
		require.Empty(t, d.Sent())
	}
}

// The file in the place of a disk is nothing that the kernel sends commands to.
func TestAFileHasNoCommands(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sda", "nvme0n1", "vda"} {
		path := t.TempDir() + "/" + name
		require.NoError(t, writeFile(path))
		d, err := selferase.Open(path)
		require.NoError(t, err)
		_, err = selferase.Erase(t.Context(), d, everything)
		require.ErrorIs(t, err, selferase.ErrNoCommand, name)
		require.NoError(t, d.Close())
	}
}

func writeFile(path string) error { return os.WriteFile(path, make([]byte, 4096), 0o600) }
