package node

import "time"

// PowerSeen is a reading of a node's power state that no operation made.
type PowerSeen struct {
	UUID    string
	ReadAt  *time.Time // of the reading that it replaces: another one since then stands
	State   PowerState
	Failure string // why it could not be read, too often: PowerUnread and more; "" = it was
}

// PowerUnread begins the reason of the maintenance that failed readings set. A reading that
// succeeds lifts it, unless a person has set the maintenance since.
const PowerUnread = "The power state could not be read"

// PowerTargets are the words that clients PUT to states/power.
var PowerTargets = []PowerState{PowerOn, PowerOff, Rebooting, SoftRebooting, SoftPowerOff}

// PowerMinor is the microversion 1.N that has the word.
func PowerMinor(target PowerState) int {
	if target == SoftRebooting || target == SoftPowerOff {
		return 27
	}
	return 1
}

// PowerAfter is the power state that a request for target aims at.
func PowerAfter(target PowerState) PowerState {
	switch target {
	case PowerOff, SoftPowerOff:
		return PowerOff
	}
	return PowerOn
}

// PowerState is a power state or target in Ironic's words.
type PowerState string

// Power states and targets.
const (
	PowerOn       PowerState = "power on"
	PowerOff      PowerState = "power off"
	Rebooting     PowerState = "rebooting"
	SoftRebooting PowerState = "soft rebooting"
	SoftPowerOff  PowerState = "soft power off"
)
