// Package erasetest has disks that erase themselves, as tests need them: QEMU's have no secure erase, no sanitize and no locking.
package erasetest

import (
	"encoding/binary"
	"slices"
	"sync"

	"go.temper.dev/temper/internal/agent/selferase"
)

// Disk is a disk of ATA or NVMe at the place of the kernel's ioctls. It has the states of a real one.
type Disk struct {
	Is selferase.Kind
	// Erased is called when the disk erases itself.
	Erased func()
	// Refuse has the commands that the disk refuses: opcodes.
	Refuse []byte

	// Of ATA.
	NoSecurity, Frozen, Locked, Enhanced bool
	Password                             []byte // nil = none is set
	// KeepsPassword is a disk that claims to have erased itself, and has not.
	KeepsPassword bool

	// Of NVMe.
	Format, FormatCrypto, FormatsAll, SanitizeBlock, SanitizeCrypto bool
	Namespaces                                                      int    // others than its own
	FLBAS, DPS                                                      byte   // how the namespace is formatted
	Looks                                                           int    // at a sanitize until it has ended
	Sanitizing                                                      uint32 // action that is under way
	SanitizeFails                                                   bool

	// Of both: the flags of TCG's locking feature; 0 = the disk does not encrypt itself.
	Locking byte

	mu       sync.Mutex
	sent     []byte
	words    []uint32
	prepared bool
	failed   bool
	done     uint32 // last action of a sanitize
}

// Sent returns the opcodes of the commands so far that are no reading.
func (d *Disk) Sent() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sent)
}

// Words returns command dword 10 of the NVMe commands in Sent.
func (d *Disk) Words() []uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.words)
}

// Kind implements selferase.Device.
func (d *Disk) Kind() selferase.Kind { return d.Is }

// Namespace implements selferase.Device.
func (d *Disk) Namespace() uint32 { return 1 }

// Close implements selferase.Device.
func (d *Disk) Close() error { return nil }

func (d *Disk) erase() {
	if d.Erased != nil {
		d.Erased()
	}
}

func refused() error { return selferase.Refusal{Words: "aborted"} }

// ATA implements selferase.Device.
func (d *Disk) ATA(c selferase.ATA) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Is != selferase.KindATA {
		return selferase.ErrNoCommand
	}
	reads := c.Command == 0xec || c.Command == 0x5c
	if !reads {
		d.sent = append(d.sent, c.Command)
	}
	if slices.Contains(d.Refuse, c.Command) || !reads && (d.Frozen || d.NoSecurity) {
		return refused()
	}
	password := func() []byte { return c.Data[2:34] }
	switch c.Command {
	case 0xec:
		d.identify(c.Data)
	case 0x5c:
		d.discover(c.Data)
	case 0xf1:
		d.Password = slices.Clone(password())
	case 0xf2:
		if !slices.Equal(d.Password, password()) {
			return refused()
		}
		d.Locked = false
	case 0xf6:
		if d.Locked || !slices.Equal(d.Password, password()) {
			return refused()
		}
		d.Password = nil
	case 0xf3:
		d.prepared = true
	case 0xf4:
		enhanced := c.Data[0]&2 != 0
		if !d.prepared || !slices.Equal(d.Password, password()) || enhanced && (!d.Enhanced || slices.Contains(d.Refuse, EnhancedErase)) {
			d.prepared = false
			return refused()
		}
		d.prepared = false
		if !d.KeepsPassword {
			d.Password = nil
			d.erase()
		}
	}
	return nil
}

// EnhancedErase in Refuse is not a command of its own: the enhanced form of secure erase.
const EnhancedErase = 0xff

func (d *Disk) identify(data []byte) {
	word := func(i int, v uint16) { binary.LittleEndian.PutUint16(data[2*i:], v) }
	if d.Locking != 0 {
		word(48, 0x4001)
	}
	if d.NoSecurity {
		return
	}
	word(82, 1<<1)
	word(89, 30)
	word(90, 1<<15|300)
	security := uint16(1)
	for bit, on := range map[int]bool{1: d.Password != nil, 2: d.Locked, 3: d.Frozen, 5: d.Enhanced} {
		if on {
			security |= 1 << bit
		}
	}
	word(128, security)
}

// discover answers a level 0 discovery: a feature that matters to nobody here, then that of locking.
func (d *Disk) discover(data []byte) {
	binary.BigEndian.PutUint32(data, 48-4+2*16)
	copy(data[48:], []byte{0x00, 0x01, 0x10, 12})
	copy(data[64:], []byte{0x00, 0x02, 0x10, 12, d.Locking})
}

// NVMe implements selferase.Device.
func (d *Disk) NVMe(c selferase.NVMe) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Is != selferase.KindNVMe {
		return selferase.ErrNoCommand
	}
	reads := c.Opcode == 0x06 || c.Opcode == 0x02 || c.Opcode == 0x82
	if !reads {
		d.sent, d.words = append(d.sent, c.Opcode), append(d.words, c.CDW10)
	}
	if slices.Contains(d.Refuse, c.Opcode) {
		return refused()
	}
	switch c.Opcode {
	case 0x06:
		d.identifyNVMe(c)
	case 0x82:
		d.discover(c.Data)
	case 0x80:
		if d.failed || d.Sanitizing != 0 {
			return refused()
		}
		d.erase()
	case 0x84:
		d.startSanitize(c.CDW10 & 7)
	case 0x02:
		d.sanitizeStatus(c.Data)
	}
	return nil
}

func (d *Disk) identifyNVMe(c selferase.NVMe) {
	switch c.CDW10 {
	case 0:
		c.Data[26], c.Data[29] = d.FLBAS, d.DPS
	case 1:
		for _, bit := range []struct {
			at  int
			bit byte
			on  bool
		}{
			{256, 1, d.Locking != 0}, {256, 2, d.Format}, {524, 4, d.FormatCrypto}, {524, 3, d.FormatsAll}, {328, 1, d.SanitizeCrypto}, {328, 2, d.SanitizeBlock},
		} {
			if bit.on {
				c.Data[bit.at] |= bit.bit
			}
		}
	case 2:
		for i := range d.Namespaces + 1 {
			binary.LittleEndian.PutUint32(c.Data[4*i:], uint32(i+1)) //nolint:gosec // few
		}
	}
}

func (d *Disk) startSanitize(action uint32) {
	if action == 1 {
		d.failed = false
		return
	}
	d.Sanitizing = action
}

// sanitizeStatus ends a sanitize after as many looks as Looks says.
func (d *Disk) sanitizeStatus(data []byte) {
	if d.Sanitizing != 0 {
		if d.Looks--; d.Looks < 0 {
			d.done, d.Sanitizing, d.failed = d.Sanitizing, 0, d.SanitizeFails
			if !d.failed {
				d.erase()
			}
		}
	}
	switch {
	case d.Sanitizing != 0:
		data[2] = 2
		binary.LittleEndian.PutUint32(data[4:], d.Sanitizing)
	case d.failed:
		data[2] = 3
	case d.done != 0:
		data[2] = 1
		binary.LittleEndian.PutUint32(data[4:], d.done)
	}
}
