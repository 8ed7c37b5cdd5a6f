package share

import "time"

// Instance is the record of an instance.
type Instance struct {
	UUID        string
	Node        string // uuid
	Service     string // the compute service that manages it, lower case; "" = none
	Absent      bool   // it is not wanted any more
	CreatedAt   time.Time
	AbsentSince *time.Time
	ConfirmedAt *time.Time // when its service confirmed that it is gone
	Standing    bool       // it is on the node
}

// InstanceFilter picks instances and a page of them.
type InstanceFilter struct {
	Service string // "" = all
	Absent  bool   // only those not wanted any more
	Marker  string // uuid; "" = from the first
	Limit   int
}

// Orphan is a node with an instance that is not wanted any more.
type Orphan struct{ Instance, Node string }
