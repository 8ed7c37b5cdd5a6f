package lldp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net"
	"strings"
	"unicode"
)

// Types of TLVs (IEEE 802.1AB, section 8.5), and what organizations have in type 127.
const (
	chassis     = 1
	port        = 2
	description = 4
	systemName  = 5
	systemText  = 6
	special     = 127
)

// Subtypes of type 127 by the organization's number and one byte more.
var (
	portVLAN  = []byte{0x00, 0x80, 0xc2, 1}
	frameSize = []byte{0x00, 0x12, 0x0f, 4}
)

// maxText bounds a text of a switch, in bytes.
const maxText = 255

// Describe returns what the pieces say, with the names of Ironic's hook parse-lldp (drivers/modules/inspector/hooks/parse_lldp.py). What it can't
// read is left out.
func Describe(pieces []TLV) map[string]any {
	out := map[string]any{}
	put := func(name, text string) {
		if text != "" {
			out[name] = text
		}
	}
	for _, p := range pieces {
		switch p.Type {
		case chassis:
			put("switch_chassis_id", identifier(p.Value, 4, 5))
		case port:
			put("switch_port_id", identifier(p.Value, 3, 4))
		case description:
			put("switch_port_description", text(p.Value))
		case systemName:
			put("switch_system_name", text(p.Value))
		case systemText:
			put("switch_system_description", text(p.Value))
		case special:
			if v, found := bytes.CutPrefix(p.Value, portVLAN); found && len(v) >= 2 {
				out["switch_port_untagged_vlan_id"] = int(binary.BigEndian.Uint16(v))
			}
			if v, found := bytes.CutPrefix(p.Value, frameSize); found && len(v) >= 2 {
				out["switch_port_mtu"] = int(binary.BigEndian.Uint16(v))
			}
		}
	}
	return out
}

// identifier reads the id of a switch or a port: a subtype, then a MAC, an address or a text.
func identifier(v []byte, mac, address byte) string {
	if len(v) < 2 {
		return ""
	}
	switch id := v[1:]; {
	case v[0] == mac && len(id) == 6:
		return net.HardwareAddr(id).String()
	case v[0] == address && (len(id) == 5 || len(id) == 17): // a family, then the address
		return net.IP(id[1:]).String()
	case v[0] == mac || v[0] == address:
		return hex.EncodeToString(id)
	default:
		return text(id)
	}
}

// text returns what a switch has written, without what can't be printed.
func text(v []byte) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(string(v[:min(len(v), maxText)]), ""))
	return strings.TrimSpace(clean)
}

// Read returns the pieces in the JSON value of one interface in lldp_raw: a list of types and values in hexadecimal digits. What is none is left out.
func Read(value any) (out []TLV) {
	list, _ := value.([]any)
	for _, one := range list[:min(len(list), maxTLVs)] {
		pair, _ := one.([]any)
		if len(pair) != 2 {
			continue
		}
		digits, _ := pair[1].(string)
		b, err := hex.DecodeString(digits)
		if kind, ok := number(pair[0]); ok && err == nil {
			out = append(out, TLV{kind, b})
		}
	}
	return out
}

// number reads a whole number of JSON, as the one or the other decoder returns it.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case float64:
		return int(n), n == float64(int(n))
	case interface{ Int64() (int64, error) }:
		i, err := n.Int64()
		return int(i), err == nil
	case int64:
		return int(n), true
	case int:
		return n, true
	}
	return 0, false
}
