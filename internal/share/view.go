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
	Absent                    bool   // the instance is not wanted any more but still on the node
	State                     string // provision state
	Maintenance               bool   // the operator's
	Offered                   bool   // it could be given to an instance now, apart from maintenance
}

// Used returns 1 if an instance is on the node, else 0.
func (c *Capacity) Used() int {
	if c.Instance != "" {
		return 1
	}
	return 0
}

// Reserved returns 1 if the node is free and can't be offered, else 0. For clients that do not
// know the field requires, a node in maintenance is reserved.
func (c *Capacity) Reserved(knows bool) int {
	if c.Instance == "" && (!c.Offered || c.Maintenance && !knows) {
		return 1
	}
	return 0
}

// Claimer is who claims a node.
type Claimer struct {
	Service string // the compute service that claims; "" = none
	Knows   bool   // the client knows the field requires
}

// Overview is the split for operators.
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
	Leaving   int // nodes that left its share and that it may still publish
}

// Published describes an epoch of shares that was written.
type Published struct {
	Epoch   int64
	Moved   int // rows that were written
	Expired int // services that were live in the epoch before and are not in this one
}
