package node

import "time"

// Outage is a time in which a part of Temper that everything needs could not be reached by those that watch it. While PostgreSQL is
// away nothing can be recorded; while Temporal is away no workflow goes on.
type Outage struct {
	Part  OutagePart
	From  time.Time  // when it was reached last
	Until *time.Time // when it was reached again; nil = it was not yet
}

// OutagePart is what was away.
type OutagePart string

// What may be away.
const (
	OutageOfPostgreSQL OutagePart = "postgresql" // no API and no orchestrator reached it
	OutageOfTemporal   OutagePart = "temporal"   // no orchestrator reached it
)
