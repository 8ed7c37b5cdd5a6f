package ironic

import (
	"strings"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// checkNodeName refuses names that could be taken for something else. words
// holds one %s, for the name.
func checkNodeName(name string, minor int, words string) error {
	switch {
	case minor < 5:
		return format.TooNew(5)
	case !node.ValidName(name, minor):
		return fault.New(fault.Invalid, words, format.Clip(name))
	}
	return node.NotReserved(name)
}

// normalMAC is a MAC address in the form of a row. Ironic's API takes none with dashes.
func normalMAC(s string) (string, bool) {
	mac, err := node.ValidMAC(s)
	return mac, err == nil && !strings.Contains(s, "-")
}
