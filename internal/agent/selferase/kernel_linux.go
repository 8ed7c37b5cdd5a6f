package selferase

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel sends commands by the ioctls of Linux.
type kernel struct {
	fd        int
	kind      Kind
	namespace uint32
}

// The ioctls (scsi/sg.h, linux/nvme_ioctl.h).
const (
	sgIO           = 0x2285
	nvmeIoctlID    = 0x4e40
	nvmeIoctlAdmin = 0xc0484e41
)

// Open opens a disk for its own commands.
func Open(path string) (Device, error) {
	k := &kernel{}
	name := filepath.Base(path)
	switch {
	case strings.HasPrefix(name, "nvme"):
		k.kind = KindNVMe
	case strings.HasPrefix(name, "sd"):
		k.kind = KindATA
	}
	var err error
	if k.fd, err = unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open disk %s: %w", path, err)
	}
	if k.kind != KindNVMe {
		return k, nil
	}
	id, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.fd), nvmeIoctlID, 0)
	if errno != 0 {
		k.kind = KindOther // a path to a namespace that several controllers have, or a file of this name
	}
	k.namespace = uint32(id)
	return k, nil
}

func (k *kernel) Kind() Kind        { return k.kind }
func (k *kernel) Namespace() uint32 { return k.namespace }
func (k *kernel) Close() error      { return unix.Close(k.fd) }

// sgHeader is struct sg_io_hdr.
type sgHeader struct {
	interfaceID    int32
	direction      int32
	commandLength  uint8
	senseLength    uint8
	vectors        uint16
	length         uint32
	data           unsafe.Pointer
	command, sense unsafe.Pointer
	timeout        uint32
	flags          uint32
	packet         int32
	_              unsafe.Pointer
	status         uint8
	_              [2]uint8
	_              uint8
	host           uint16
	driver         uint16
	residual       int32
	duration       uint32
	info           uint32
}

const (
	sgNone, sgOut, sgIn = -1, -2, -3
	checkCondition      = 2
)

// ATA sends ATA PASS-THROUGH (16) (SAT-4, section 12.2).
func (k *kernel) ATA(c ATA) error {
	const noData, in, out = 3 << 1, 4 << 1, 5 << 1
	const fromDisk, blocks, byCount = 1 << 3, 1 << 2, 2
	cdb := [16]byte{
		0: 0x85, 1: noData, 4: c.Feature, 6: c.Count, 8: byte(c.LBA), 10: byte(c.LBA >> 8), 12: byte(c.LBA >> 16), 14: c.Command,
	}
	sense := [64]byte{}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&cdb)
	pin.Pin(&sense)
	h := sgHeader{
		interfaceID: 'S', direction: sgNone, commandLength: uint8(len(cdb)), senseLength: uint8(len(sense)), command: unsafe.Pointer(&cdb),
		sense: unsafe.Pointer(&sense), timeout: uint32(c.Timeout.Milliseconds()),
	}
	if len(c.Data) > 0 {
		h.direction, cdb[1], cdb[2] = sgIn, in, fromDisk|blocks|byCount
		if c.Out {
			h.direction, cdb[1], cdb[2] = sgOut, out, blocks|byCount
		}
		pin.Pin(&c.Data[0])
		h.data, h.length = unsafe.Pointer(&c.Data[0]), uint32(len(c.Data))
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.fd), sgIO, uintptr(unsafe.Pointer(&h))); errno != 0 {
		if errors.Is(errno, unix.ENOTTY) || errors.Is(errno, unix.EINVAL) || errors.Is(errno, unix.EOPNOTSUPP) {
			return ErrNoCommand
		}
		return fmt.Errorf("send an ATA command: %w", errno)
	}
	return answered(h, sense)
}

// answered reads the answer of a SCSI disk.
func answered(h sgHeader, sense [64]byte) error {
	key := sense[2] & 0xf // of fixed format
	if sense[0]&0x7f >= 0x72 {
		key = sense[1] & 0xf
	}
	const illegalRequest = 5
	switch {
	case h.host != 0:
		return fmt.Errorf("send an ATA command: the controller of the disk answers with %#x", h.host)
	case h.status == 0:
		return nil
	case h.status == checkCondition && key == illegalRequest:
		return ErrNoCommand // no ATA disk, or a bridge that lets no commands through
	}
	return Refusal{fmt.Sprintf("SCSI status %#x, sense key %#x", h.status, key)}
}

// passthrough is struct nvme_passthru_cmd.
type passthrough struct {
	opcode, flags       uint8
	_                   uint16
	nsid                uint32
	_                   [2]uint32
	metadata, address   uint64
	metadataLen, length uint32
	cdw                 [6]uint32 // 10 to 15
	timeout             uint32
	result              uint32
}

func (k *kernel) NVMe(c NVMe) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	p := passthrough{opcode: c.Opcode, nsid: c.NSID, timeout: uint32(c.Timeout.Milliseconds())}
	p.cdw[0], p.cdw[1] = c.CDW10, c.CDW11
	if len(c.Data) > 0 {
		pin.Pin(&c.Data[0])
		p.address, p.length = uint64(uintptr(unsafe.Pointer(&c.Data[0]))), uint32(len(c.Data))
	}
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.fd), nvmeIoctlAdmin, uintptr(unsafe.Pointer(&p)))
	switch {
	case errors.Is(errno, unix.ENOTTY), errors.Is(errno, unix.EOPNOTSUPP):
		return ErrNoCommand
	case errno != 0:
		return fmt.Errorf("send an NVMe command: %w", errno)
	case status != 0:
		return Refusal{fmt.Sprintf("NVMe status %#x", status&0x7fff)}
	}
	return nil
}
