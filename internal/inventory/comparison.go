package inventory

import "time"

// Comparison is how the hardware of a node differs from what it was, and from that of other nodes.
type Comparison struct {
	NodeUUID      string
	CollectedAt   time.Time // when the last inspection found it
	Facts         map[string]string
	Changes       Changes      // since the inspection before
	ChangedSince  *time.Time   // when the inspection before was; nil = there was none
	ResourceClass string       // "" = the node has none, and is compared with no other
	Siblings      int          // how many other nodes of the class were compared; at most 1,000
	Differences   []Difference // from most of them, in the order of the facts
}
