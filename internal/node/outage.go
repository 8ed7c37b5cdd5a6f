package node

import "time"

// Outage is a time in which PostgreSQL or Temporal could not be reached. Without PostgreSQL nothing can be recorded; without Temporal
// no workflow goes on.
type Outage struct {
	Part  OutagePart
	From  time.Time  // when it was reached last
	Until *time.Time // when it was reached again; nil = not yet
}

// OutagePart is what was away.
type OutagePart string

// What may be away.
const (
	OutageOfPostgreSQL OutagePart = "postgresql" // no API and no orchestrator reached it
	OutageOfTemporal   OutagePart = "temporal"   // no orchestrator reached it
)
