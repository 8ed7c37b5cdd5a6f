package share

// Page is a page of the nodes in a service's share.
type Page struct {
	Epoch int64
	Host  string
	Live  bool // the service's lease has not ended
	Nodes []Capacity
}

// Capacity is a node as its service publishes it. Its total is 1.
type Capacity struct {
	UUID, Name, ResourceClass string
	Traits                    []string
	Instance                  string // uuid; "" = none
	Absent                    bool   // the instance is gone while the node still carries it
	State                     string // provision state
	Maintenance               bool   // the operator's
	Offered                   bool   // it could be given away now, maintenance aside
}

// Used is 1 where an instance stands on the node.
func (c *Capacity) Used() int {
	if c.Instance != "" {
		return 1
	}
	return 0
}

// Reserved is 1 where the node is free and can't be offered. knows: the client
// understands requires; to others a node in maintenance is reserved.
func (c *Capacity) Reserved(knows bool) int {
	if c.Instance == "" && (!c.Offered || c.Maintenance && !knows) {
		return 1
	}
	return 0
}

// Claimer is the compute service in whose name a node is claimed.
type Claimer struct {
	Service string // "" = nobody claims in its own name
	Knows   bool   // who asks knows what nodes in maintenance require
}

// Overview is the split as an operator wants to see it.
type Overview struct {
	Epoch    int64
	Services []Service
	Tallies  []Tally
	Loads    map[int64]Load // by service
}

// Load counts the nodes of a service.
type Load struct {
	Nodes     int // in its share
	Instances int // of these, with an instance
	Leaving   int // that it has left and may still publish
}

// Published is an epoch of shares that came to be.
type Published struct {
	Epoch   int64
	Moved   int // rows that were written
	Expired int // services that lived in the epoch before and do not in this one
}
