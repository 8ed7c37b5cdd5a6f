// Package nodetest makes nodes for tests of the domain.
package nodetest

import "go.temper.dev/temper/internal/node"

// UUID is the uuid of all nodes that this package makes.
const UUID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"

// In returns a node in state s.
func In(s node.State, more ...func(*node.Node)) *node.Node {
	n := &node.Node{UUID: UUID, Driver: "redfish", ProvisionState: s, TargetProvisionState: node.TargetOf(s)}
	for _, f := range more {
		f(n)
	}
	return n
}

// Open gives a node an open operation, number 7.
func Open(k node.OperationKind, steps ...node.Step) func(*node.Node) {
	return func(n *node.Node) {
		n.Operation = &node.Operation{ID: 7, Kind: k, Phase: node.Running, Steps: steps}
	}
}

// Redfish returns a node with the driver redfish and its default interfaces.
func Redfish(more ...func(*node.Node)) *node.Node { return Made("redfish", more...) }

// Fake returns a node with the driver fake-hardware and its default interfaces.
func Fake(more ...func(*node.Node)) *node.Node { return Made("fake-hardware", more...) }

// Made returns a node with that driver and its default interfaces.
func Made(driver string, more ...func(*node.Node)) *node.Node {
	h, ok := node.Hardware(driver)
	if !ok {
		panic(driver)
	}
	n := &node.Node{UUID: UUID, Driver: driver, Interfaces: map[string]string{}}
	for i, impls := range h.Supports() {
		n.Interfaces[i] = impls[0]
	}
	for _, f := range more {
		f(n)
	}
	return n
}

// Uses sets the node's implementation of an interface.
func Uses(iface, impl string) func(*node.Node) {
	return func(n *node.Node) { n.Interfaces[iface] = impl }
}
