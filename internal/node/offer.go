package node

// AvailableFilter narrows the nodes that can be offered; what is nil or empty does not.
type AvailableFilter struct {
	ResourceClass, ConductorGroup *string
	Owner                         *string // owner or lessee
	// Dedicated hides nodes with an owner or lessee from who names no Owner.
	Dedicated bool
	// Traits that a node must have. With any given, nodes in maintenance are
	// offered only where TraitMaintenance is among them.
	Traits []string
	Limit  int    // 0 or more than MaxLimit = MaxLimit
	Marker string // uuid of the last node of the page before; "" = the first page
}

// Offer is a node that can be offered to a scheduler.
type Offer struct {
	UUID, Name, ResourceClass, ConductorGroup string
	Traits                                    []string
	Requires                                  []string // traits that whoever takes it must ask for
}
