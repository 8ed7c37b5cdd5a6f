package node

import "slices"

// Owners are the projects that own and lease a node, or what belongs to one; "" = none.
type Owners struct{ Owner, Lessee string }

// Owners returns the projects that own and lease the node.
func (n *Node) Owners() Owners { return Owners{n.Owner, n.Lessee} }

// View is what somebody may see of a list: what these projects own or lease. nil shows everything.
type View struct{ Owners, Lessees []string }

// Shows reports whether the view has something that belongs to o.
func (v *View) Shows(o Owners) bool {
	return v == nil || o.Owner != "" && slices.Contains(v.Owners, o.Owner) || o.Lessee != "" && slices.Contains(v.Lessees, o.Lessee)
}
