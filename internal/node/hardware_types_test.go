package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

// A node names an implementation of each interface, so a hardware type that has none of
// one of them has no nodes.
func TestEveryHardwareTypeHasEveryInterface(t *testing.T) {
	for _, name := range HardwareTypes() {
		h, _ := Hardware(name)
		for _, i := range Interfaces {
			require.NotEmpty(t, h.Implementations[i], "hardware type %s has no implementation of the interface %s: name one, no(%q) if it can't do it", name, i, i)
		}
		require.Len(t, h.Implementations, len(Interfaces), "hardware type %s implements an interface that nodes do not have", name)
	}
}
