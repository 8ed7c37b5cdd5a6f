package selferase

import (
	"encoding/binary"
	"errors"
)

// level0 is the size of the answer to a level 0 discovery that is read (TCG Storage Core Specification 2.01, section 3.3.6).
const level0 = 2048

// The feature of a level 0 discovery for locking, and its flags.
const (
	featureLocking   = 0x0002
	lockingEnabled   = 1 << 1
	lockingLocked    = 1 << 2
	discoveryHeader  = 48
	discoverySecured = 0x01 // security protocol and the first byte of the id of the communication
)

func ataLevel0(d Device) ([]byte, error) {
	data := make([]byte, level0)
	// TRUSTED RECEIVE has the protocol in its feature, the id in the upper bits of its address, the number of blocks in its count.
	err := d.ATA(ATA{Command: ataTrustedReceive, Feature: discoverySecured, Count: level0 / block, LBA: 1 << 8, Data: data, Timeout: shortly})
	return data, err
}

func nvmeLevel0(d Device) ([]byte, error) {
	data := make([]byte, level0)
	err := d.NVMe(NVMe{Opcode: nvmeSecurityReceive, CDW10: discoverySecured<<24 | 1<<8, CDW11: level0, Data: data, Timeout: shortly})
	return data, err
}

// checkLocking refuses a self-encrypting disk whose owner has switched its locking on: it refuses every other command to erase.
func checkLocking(data []byte, err error) error {
	var refused Refusal
	if errors.As(err, &refused) || errors.Is(err, ErrNoCommand) {
		return nil // it has no such protocol
	}
	if err != nil {
		return err
	}
	flags := locking(data)
	switch {
	case flags&lockingLocked != 0:
		return impossible("it encrypts itself, and is locked by an owner; reverting it needs the owner's password, or the PSID on its label")
	case flags&lockingEnabled != 0:
		return impossible("it encrypts itself, and an owner has switched its locking on; reverting it needs the owner's password, or the PSID on its label")
	}
	return nil
}

// locking returns the flags of the locking feature, 0 if the answer has none.
func locking(data []byte) byte {
	if len(data) < discoveryHeader {
		return 0
	}
	length := min(int64(binary.BigEndian.Uint32(data))+4, int64(len(data)))
	for rest := data[discoveryHeader:max(discoveryHeader, length)]; len(rest) >= 5; {
		code, size := binary.BigEndian.Uint16(rest), 4+int(rest[3])
		if code == featureLocking {
			return rest[4]
		}
		rest = rest[min(size, len(rest)):]
	}
	return 0
}
