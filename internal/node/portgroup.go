package node

// Portgroup is several ports of a node that are used as one (a bond, or LAG).
type Portgroup struct {
	Record
	NodeUUID                 string
	Address                  string // MAC, lower case, colons; "" = none
	Name                     string // "" = none
	Mode                     string // of the bond, as in the Linux kernel's documentation
	Properties               map[string]any
	StandalonePortsSupported bool // its ports can be used one by one, too
	PhysicalNetwork          string
	Category                 string
	DynamicPortgroup         bool // no person has made it
	Extra, InternalInfo      map[string]any
}

// DefaultPortgroupMode is the mode of port groups for which nobody names one (Ironic's default_portgroup_mode).
const DefaultPortgroupMode = "active-backup"

// PortgroupFilter narrows a list of port groups. A field that is nil does not.
type PortgroupFilter struct {
	Node    *string // uuid or name
	Address *string
	Shards  []string
	// ConductorGroups: its node is in one of these.
	ConductorGroups []string
}
