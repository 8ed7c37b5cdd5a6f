package node

// Port is a network interface of a node.
type Port struct {
	Record
	NodeUUID            string
	Address             string // MAC, lower case, colons
	Name                string
	Description         string
	PXEEnabled          bool
	LocalLinkConnection map[string]any
	PhysicalNetwork     string
	IsSmartNIC          bool
	PortgroupUUID       string // the group that it is a part of; "" = none
	Vendor, Category    string // for people, and for rules that choose ports
	// AvailableForDynamicPortgroup: whoever groups ports automatically may take it.
	AvailableForDynamicPortgroup bool
	Extra, InternalInfo          map[string]any
}
