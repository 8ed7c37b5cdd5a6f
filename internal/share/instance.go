package share

import "time"

// Instance is what is recorded of an instance.
type Instance struct {
	UUID        string
	Node        string // uuid
	Service     string // who manages it, lower case; "" = nobody
	Absent      bool   // it is not wanted any more
	CreatedAt   time.Time
	AbsentSince *time.Time
	ConfirmedAt *time.Time // when its service confirmed that it is gone
	Standing    bool       // the node carries it
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
