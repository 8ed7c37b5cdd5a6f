package node

import "time"

// PowerSeen is a reading of a node's power state that no operation made.
type PowerSeen struct {
	UUID    string
	ReadAt  *time.Time // of the reading that it replaces: another one since then stands
	State   PowerState
	Failure string // why it could not be read, too often; "" = it was
}
