package node

// AvailableFilter narrows the nodes that can be offered. A field that is nil or empty does not.
type AvailableFilter struct {
	ResourceClass, ConductorGroup *string
	Owner                         *string // owner or lessee
	// Dedicated: if Owner is nil, nodes with an owner or lessee are left out.
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
	Requires                                  []string // traits that a request must name to get it
}
