package node

import "time"

// PowerSeen is a reading of a node's power state that no operation made.
type PowerSeen struct {
	UUID    string
	ReadAt  *time.Time // of the reading that it replaces: another one since then stands
	State   PowerState
	Failure string // why it could not be read, too often: PowerUnread and more; "" = it was
}

// PowerUnread begins the reason of the maintenance that failed readings set. They
// lift only that, when they succeed again: not one for which an operator has
// given a reason of their own since.
const PowerUnread = "The power state could not be read"
