package audit

import "go.temper.dev/temper/internal/access"

const (
	// Temporal is the method of a decision that a person took in Temporal.
	Temporal access.Method = "temporal"
	// UnknownPerson is the user of such a decision: Temporal does not say who it was.
	UnknownPerson = "by Temporal, unknown person"
)

// InTemporal is the entry of a decision that a person took in Temporal: what he did there, such as pause, and the reason if he gave one.
func InTemporal(what, reason string) Entry {
	return Entry{User: UnknownPerson, Method: Temporal, Rule: "temporal:" + what, What: []string{what}, Reason: reason}
}
