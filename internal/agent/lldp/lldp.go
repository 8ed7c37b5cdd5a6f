// Package lldp receives what switches send to a machine's network interfaces (IEEE 802.1AB): to which switch and port each is connected.
package lldp

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// TLV is a piece of information in a frame. In JSON it is as ironic-python-agent sends it: the type, and the value in hexadecimal digits.
type TLV struct {
	Type  int
	Value []byte
}

// MarshalJSON returns [type, "digits"].
func (t TLV) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{t.Type, hex.EncodeToString(t.Value)})
}

const (
	etherType  = 0x88cc
	headerSize = 14  // addresses and type of a frame
	maxTLVs    = 200 // of a frame; a frame of 1500 bytes has fewer that matter
)

// Parse returns the pieces in a frame, without the one that marks the end. A frame has three that it can't do without, in this order:
// the switch, its port, and how long they are valid.
func Parse(frame []byte) ([]TLV, error) {
	if len(frame) < headerSize || binary.BigEndian.Uint16(frame[12:]) != etherType {
		return nil, errors.New("no frame of LLDP")
	}
	var out []TLV
	for rest := frame[headerSize:]; len(rest) >= 2 && len(out) < maxTLVs; {
		head := binary.BigEndian.Uint16(rest)
		kind, size := int(head>>9), int(head&0x1ff)
		if rest = rest[2:]; size > len(rest) {
			return nil, errors.New("the frame ends in the middle of a piece")
		}
		if kind == 0 {
			break
		}
		out = append(out, TLV{kind, append([]byte{}, rest[:size]...)})
		rest = rest[size:]
	}
	if len(out) < 3 || out[0].Type != 1 || out[1].Type != 2 || out[2].Type != 3 {
		return nil, errors.New("the frame does not begin with a switch, a port and a time")
	}
	return out, nil
}
