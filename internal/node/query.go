package node

import (
	"time"

	"go.temper.dev/temper/internal/fault"
)

// MaxLimit is how many rows a page of any list has at most (Ironic's max_limit).
const MaxLimit = 1000

// Page is one page of a list. The zero value is the first MaxLimit rows, oldest first.
type Page struct {
	Limit   int    // 0 or more than MaxLimit = MaxLimit
	Marker  string // uuid of the last row of the page before; "" = the first page
	SortKey string // a field by its name in the API; "" = id
	SortDir string // asc, desc; "" = asc
	Only    *View  // of what belongs to some; nil = of everything
}

// Filter narrows a list of nodes. A field that is nil or empty does not.
type Filter struct {
	InstanceUUID, InstanceName, ChassisUUID, ParentNode *string
	Driver, ResourceClass, ConductorGroup, Fault        *string
	Owner, Lessee                                       *string
	Project                                             *string // owner or lessee
	DescriptionContains                                 *string // any case
	// Conductor leaves out the nodes that another conductor of Working certainly owns.
	Conductor                                 *string
	Working                                   []string
	ProvisionState                            *State
	Health                                    *HealthStatus // not HealthUnknown
	Associated, Maintenance, Retired, Sharded *bool
	Shards                                    []string // one of these
	// IncludeChildren shows nodes that have a parent; they are hidden unless
	// ParentNode is given.
	IncludeChildren bool
}

// PortFilter narrows a list of ports. A field that is nil does not.
type PortFilter struct {
	Node                *string // uuid or name
	Portgroup           *string // uuid
	Address             *string
	Shards              []string
	ConductorGroups     []string // of its node: one of these
	DescriptionContains *string  // any case
}

// OperationFilter narrows a list of operations, newest first. An empty field does not.
type OperationFilter struct {
	// Node is the uuid or name of a node, or else of a deleted node.
	Node string
	// Deleted selects only operations of deleted nodes.
	Deleted bool
	Kind    OperationKind
	Phase   Phase   // as clients see it: Operation.State
	Outcome Outcome // of those that have ended
	Cause   fault.Code
	// Conductor is who works on it, or has worked on it last.
	Conductor string
	// Since is when it was accepted at the earliest; zero = whenever.
	Since time.Time
	// Fold leaves out failed undos that were repeated with the same cause: Operation.Repeats of the
	// last one says how many there were.
	Fold   bool
	Only   *View // of nodes that exist; nil = of all nodes
	Limit  int   // 0 or more than MaxLimit = MaxLimit
	Marker int64 // id of the last operation of the page before; 0 = the first page
}

// OpenRun is the workflow run of an open operation that has begun.
type OpenRun struct {
	Operation int64
	RunID     string
	Paused    bool // in Temporal, as the row says
}

// MissingWorkflow is an open operation whose workflow could not be found.
type MissingWorkflow struct {
	Operation Operation
	For       time.Duration // since it was missed first, by the database's clock
}
