package selferase

import (
	"errors"
	"fmt"
	"time"
)

// Device sends a disk commands of its own. Open returns the one of the kernel.
type Device interface {
	// Kind returns which commands the disk may have.
	Kind() Kind
	// ATA sends a command of ATA. It returns ErrNoCommand if no ATA disk is there, and a Refusal if the disk refuses.
	ATA(c ATA) error
	// NVMe sends an administrative command to the disk's controller. Errors are those of ATA.
	NVMe(c NVMe) error
	// Namespace is the number of the disk's namespace in an NVMe controller.
	Namespace() uint32
	Close() error
}

// Kind is the set of commands that a disk may have.
type Kind int

// The kinds of disks.
const (
	KindOther Kind = iota // neither; it does not erase itself
	KindATA               // ATA, or a SCSI disk that may be one behind a translation
	KindNVMe
)

// ATA is a command of ATA (ACS-4) with 28 bits of address.
type ATA struct {
	Command, Feature, Count byte
	LBA                     uint32
	Data                    []byte // blocks of 512 bytes; nil = the command has no data
	Out                     bool   // the data goes to the disk
	Timeout                 time.Duration
}

// NVMe is an administrative command (NVM Express Base Specification 2.0). Its opcode says where the data goes.
type NVMe struct {
	Opcode       byte
	NSID         uint32
	CDW10, CDW11 uint32
	Data         []byte
	Timeout      time.Duration
}

// ErrNoCommand says that the disk has no command to erase itself. It may be overwritten instead.
var ErrNoCommand = errors.New("the disk has no command to erase itself")

// Refusal is the answer of a disk that refuses a command.
type Refusal struct{ Words string }

func (r Refusal) Error() string { return "the disk refused: " + r.Words }

// Impossible says why a disk that has a command to erase itself was not erased by it.
type Impossible struct{ Why string }

func (i Impossible) Error() string { return i.Why }

func impossible(format string, args ...any) error { return Impossible{fmt.Sprintf(format, args...)} }
