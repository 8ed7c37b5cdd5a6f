package selferase

import (
	"encoding/binary"
	"errors"
	"time"
)

// Commands of ATA (ACS-4, section 7).
const (
	ataIdentify        = 0xec
	ataTrustedReceive  = 0x5c
	ataSetPassword     = 0xf1
	ataUnlock          = 0xf2
	ataErasePrepare    = 0xf3
	ataEraseUnit       = 0xf4
	ataDisablePassword = 0xf6
)

const block = 512

// The bits of IDENTIFY DEVICE's word 128.
const (
	securitySupported = 1 << iota
	securityEnabled
	securityLocked
	securityFrozen
	securityExpired // too many wrong passwords since the last reset
	securityEnhanced
)

// identity is the part of IDENTIFY DEVICE that matters here.
type identity struct {
	security         uint16
	normal, enhanced time.Duration // how long an erasure takes; 0 = the disk does not tell
	trusted          bool          // it speaks TCG's protocols
}

func identify(d Device) (identity, error) {
	data := make([]byte, block)
	if err := d.ATA(ATA{Command: ataIdentify, Count: 1, Data: data, Timeout: shortly}); err != nil {
		return identity{}, err
	}
	word := func(i int) uint16 { return binary.LittleEndian.Uint16(data[2*i:]) }
	out := identity{security: word(128), normal: eraseTime(word(89)), enhanced: eraseTime(word(90)), trusted: word(48)&0xc001 == 0x4001}
	if word(82)&(1<<1) == 0 {
		out.security = 0
	}
	return out, nil
}

// eraseTime reads words 89 and 90: units of two minutes in 8 bits or, if bit 15 is set, in 15.
func eraseTime(word uint16) time.Duration {
	units := word & 0xff
	if word&(1<<15) != 0 {
		units = word & 0x7fff
	}
	return time.Duration(units) * 2 * time.Minute
}

func eraseATA(d Device, may Allowed) (string, error) {
	is, err := identify(d)
	var refused Refusal
	switch {
	case errors.Is(err, ErrNoCommand), errors.As(err, &refused):
		return "", ErrNoCommand
	case err != nil:
		return "", err
	case is.trusted:
		if err := checkLocking(ataLevel0(d)); err != nil {
			return "", err
		}
	}
	switch {
	case is.security&securitySupported == 0:
		return "", ErrNoCommand
	case is.security&securityFrozen != 0:
		return "", impossible("its security commands are frozen by the firmware of the machine; a disk that is plugged in again, or a firmware setting, thaws them")
	case is.security&securityExpired != 0:
		return "", impossible("it has refused too many wrong passwords, and needs a power cycle")
	}
	if is.security&securityEnabled != 0 {
		if err := takePasswordOff(d, is); err != nil {
			return "", err
		}
	}
	may.before()
	return secureErase(d, is)
}

// withPassword is a block with our password, which is that of hdparm's and ironic-python-agent's NULL: 32 zeros. A crash between two
// commands leaves a disk with a password that everybody knows.
func withPassword(command byte, control uint16, timeout time.Duration) ATA {
	data := make([]byte, block)
	binary.LittleEndian.PutUint16(data, control)
	return ATA{Command: command, Count: 1, Data: data, Out: true, Timeout: timeout}
}

// takePasswordOff removes the password that an earlier try has left.
func takePasswordOff(d Device, is identity) error {
	if is.security&securityLocked != 0 {
		if err := d.ATA(withPassword(ataUnlock, 0, shortly)); err != nil {
			return impossible("it is locked with a password that is not known here (%s)", err)
		}
	}
	if err := d.ATA(withPassword(ataDisablePassword, 0, shortly)); err != nil {
		return impossible("it has a password that is not known here (%s)", err)
	}
	return nil
}

// inOrder sends commands until one fails.
func inOrder(d Device, commands ...ATA) error {
	for _, c := range commands {
		if err := d.ATA(c); err != nil {
			return err
		}
	}
	return nil
}

// secureErase sets a password, which the command needs, and erases. A disk that has erased itself has no password any more.
func secureErase(d Device, is identity) (string, error) {
	ways := []struct {
		method  string
		control uint16
		takes   time.Duration
	}{{ATAEnhanced, 2, is.enhanced}, {ATANormal, 0, is.normal}}
	if is.security&securityEnhanced == 0 {
		ways = ways[1:]
	}
	var last error
	for _, way := range ways {
		limit := longest
		if way.takes > 0 {
			limit = 2*way.takes + 10*time.Minute // disks tell it roughly
		}
		last = inOrder(d,
			withPassword(ataSetPassword, 0, shortly), ATA{Command: ataErasePrepare, Timeout: shortly}, withPassword(ataEraseUnit, way.control, limit))
		after, err := identify(d)
		switch {
		case err != nil:
			return "", errors.Join(last, err)
		case last == nil && after.security&securityEnabled == 0:
			return way.method, nil
		case last == nil:
			last = errors.New("afterwards it still has the password that erasing takes off")
		}
		if after.security&securityEnabled != 0 {
			if err := takePasswordOff(d, after); err != nil {
				return "", errors.Join(last, err)
			}
		}
	}
	return "", impossible("secure erase has failed: %s", last)
}
