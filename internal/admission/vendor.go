package admission

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// Vendor decides what a call of a method of n's vendor interface does to n, if the method changes something; reservation as in Verb.
// Errors: Conflict, and Invalid if n's vendor interface has no such method.
func Vendor(n *node.Node, method, reservation string) (Effect, error) {
	if _, ok := n.VendorMethod(method); !ok {
		return Effect{}, NoVendorMethod(method)
	}
	if n.Operation != nil {
		return Effect{}, node.Locked(n, reservation)
	}
	return Effect{Open: node.KindVendorPassthru, From: n.ProvisionState, To: n.ProvisionState}, nil
}

// NoVendorMethod is Ironic's error for a method that a vendor interface does not have.
func NoVendorMethod(method string) error {
	return fault.Coded(fault.NotSupported, "No handler for method %s", text.Cut(method))
}
