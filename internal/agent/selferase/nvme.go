package selferase

import (
	"context"
	"encoding/binary"
	"errors"
	"time"
)

// Administrative commands of NVMe (Base Specification 2.0, figure 138).
const (
	nvmeGetLogPage      = 0x02
	nvmeIdentify        = 0x06
	nvmeFormat          = 0x80
	nvmeSecurityReceive = 0x82
	nvmeSanitize        = 0x84
)

const (
	identifySize   = 4096
	everyNamespace = 0xffffffff
	sanitizeLog    = 0x81
	sanitizeExit   = 1 // actions of sanitize
	sanitizeBlock  = 2
	sanitizeCrypto = 4
)

// controller is the part of an NVMe controller's description that matters here (figure 275).
type controller struct {
	security, format bool // the commands that it has
	formatsAll       bool // format changes all of its namespaces
	formatCrypto     bool
	sanitizeCrypto   bool
	sanitizeBlock    bool
	namespaces       int // in use
}

func identifyController(d Device) (out controller, err error) {
	data := make([]byte, identifySize)
	if err := d.NVMe(NVMe{Opcode: nvmeIdentify, CDW10: 1, Data: data, Timeout: shortly}); err != nil {
		return out, err
	}
	commands, format, sanitize := binary.LittleEndian.Uint16(data[256:]), data[524], binary.LittleEndian.Uint32(data[328:])
	out = controller{
		security: commands&1 != 0, format: commands&2 != 0, formatsAll: format&3 != 0, formatCrypto: format&4 != 0,
		sanitizeCrypto: sanitize&1 != 0, sanitizeBlock: sanitize&2 != 0,
	}
	list := make([]byte, identifySize)
	if err := d.NVMe(NVMe{Opcode: nvmeIdentify, CDW10: 2, Data: list, Timeout: shortly}); err != nil {
		return out, err
	}
	for ; len(list) >= 4 && binary.LittleEndian.Uint32(list) != 0; list = list[4:] {
		out.namespaces++
	}
	return out, nil
}

func eraseNVMe(ctx context.Context, d Device, may Allowed) (string, error) {
	is, err := identifyController(d)
	if err != nil {
		return "", err
	}
	if is.security {
		if err := checkLocking(nvmeLevel0(d)); err != nil {
			return "", err
		}
	}
	// What changes other namespaces, too, is left alone where there are others: they are disks of their own.
	alone := is.namespaces <= 1
	sanitizes := (is.sanitizeBlock || is.sanitizeCrypto) && alone
	if sanitizes {
		if method, err := sanitizeUnderWay(ctx, d); method != "" || err != nil {
			return method, err
		}
	}
	failed := error(ErrNoCommand)
	if is.format && (alone || !is.formatsAll) {
		may.before()
		method, err := format(d, is)
		if err == nil {
			return method, nil
		}
		failed = impossible("NVMe format has failed: %s", err)
	}
	if sanitizes {
		may.before()
		method, err := sanitize(ctx, d, is)
		if err == nil {
			return method, nil
		}
		if errors.Is(failed, ErrNoCommand) {
			failed = impossible("NVMe sanitize has failed: %s", err)
		} else {
			failed = impossible("%s; NVMe sanitize has failed: %s", failed, err)
		}
	}
	return "", failed
}

// format formats the namespace as it is formatted now, and erases it with that.
func format(d Device, is controller) (string, error) {
	data := make([]byte, identifySize)
	if err := d.NVMe(NVMe{Opcode: nvmeIdentify, NSID: d.Namespace(), Data: data, Timeout: shortly}); err != nil {
		return "", err
	}
	// FLBAS and DPS of the namespace have the same bits as command dword 10 (figures 97 and 332 of the NVM command set, 1.0).
	lbas, protection := uint32(data[26]), uint32(data[29])
	erase, method := uint32(1), FormatUser
	if is.formatCrypto {
		erase, method = 2, FormatCrypto
	}
	cdw10 := lbas&0xf | lbas>>4&1<<4 | protection&7<<5 | protection>>3&1<<8 | erase<<9 | lbas>>5&3<<12
	return method, d.NVMe(NVMe{Opcode: nvmeFormat, NSID: d.Namespace(), CDW10: cdw10, Timeout: longest})
}

func sanitize(ctx context.Context, d Device, is controller) (string, error) {
	action, method := uint32(sanitizeBlock), SanitizeBlock
	if is.sanitizeCrypto {
		action, method = sanitizeCrypto, SanitizeCrypto
	}
	if err := d.NVMe(NVMe{Opcode: nvmeSanitize, CDW10: action, Timeout: shortly}); err != nil {
		return "", err
	}
	state, _, err := awaitSanitize(ctx, d)
	switch {
	case err != nil:
		return "", err
	case state != sanitized:
		// Until it leaves this state, the disk refuses nearly every command.
		leave := d.NVMe(NVMe{Opcode: nvmeSanitize, CDW10: sanitizeExit, Timeout: shortly})
		return "", errors.Join(errors.New("the disk reports that it has failed"), leave)
	}
	return method, nil
}

// The states of the last sanitize (figure 277, SSTAT).
const (
	sanitizing  = 2
	unsanitized = 3 // it has failed
	sanitized   = 1 // also 4, without deallocation
)

// sanitizeUnderWay waits for a sanitize that has begun before, in an earlier try of this step. Without one it returns no method.
func sanitizeUnderWay(ctx context.Context, d Device) (string, error) {
	state, _, err := sanitizeState(d)
	var refused Refusal
	if errors.As(err, &refused) || err == nil && state != sanitizing {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	state, action, err := awaitSanitize(ctx, d)
	switch {
	case err != nil || state != sanitized:
		return "", err
	case action == sanitizeCrypto:
		return SanitizeCrypto, nil
	}
	return SanitizeBlock, nil
}

// awaitSanitize waits until the disk does not sanitize itself any more.
func awaitSanitize(ctx context.Context, d Device) (state int, action uint32, err error) {
	for {
		state, action, err = sanitizeState(d)
		if err != nil || state != sanitizing {
			return state, action, err
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func sanitizeState(d Device) (state int, action uint32, err error) {
	data := make([]byte, block)
	err = d.NVMe(NVMe{Opcode: nvmeGetLogPage, NSID: everyNamespace, CDW10: sanitizeLog | (block/4-1)<<16, Data: data, Timeout: shortly})
	if state = int(data[2] & 7); state == 4 {
		state = sanitized
	}
	return state, binary.LittleEndian.Uint32(data[4:]) & 7, err
}
