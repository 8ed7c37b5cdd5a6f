package node

import "time"

// PowerSeen is a reading of a node's power state that no operation made.
type PowerSeen struct {
	UUID    string
	ReadAt  *time.Time // of the reading that it replaces: another one since then stands
	State   PowerState
	Failure string // why it could not be read, too often: PowerUnread and more; "" = it was
}

// PowerReadAgain is a reading, made outside of any operation, that found the power state that is recorded.
type PowerReadAgain struct {
	ID    int64 // of the node
	State PowerState
	At    time.Time
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

// Reaches reports whether o, an open operation, does all that a new request for target would do. It does if it is a power request for
// the same target, nobody has asked it to end, nothing has failed and it is not paused. A reboot must not have begun either: whoever
// asks for one after that wants another.
func (o *Operation) Reaches(target PowerState) bool {
	if !o.Kind.Spec().PowerChange || o.PowerTarget != target || o.Asked != AskNone || o.Paused {
		return false
	}
	switch o.Phase {
	case Accepted, Running, Waiting:
	default:
		return false
	}
	reboots := target == Rebooting || target == SoftRebooting
	return !reboots || o.BegunAt == nil
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
