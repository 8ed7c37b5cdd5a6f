package fault

// Class says what may be done about a step that failed. One table, read by the
// activities (which retry) and by the workflows (which may hold for a decision).
type Class int

// The classes of error.
const (
	Never         Class = iota // asking again can't help, and may harm
	Transient                  // retried at once, then with growing pauses
	WaitBusy                   // retried with the pause the other side asked for
	NeedsOperator              // retried by a person's decision only
)

var classes = map[Kind]Class{
	Unavailable: Transient, Unreachable: Transient, Busy: WaitBusy,
	Internal: NeedsOperator, Refused: NeedsOperator, Untrusted: NeedsOperator, Denied: NeedsOperator,
	OutcomeUnknown: NeedsOperator,
	Invalid:        NeedsOperator, // what was given can be corrected while the operation holds
}

// ClassOfKind is the retry class of a kind; one that is not in the table is Never.
func ClassOfKind(k Kind) Class { return classes[k] }

// ClassOf is the retry class of err; kinds that are not in the table are Never.
func ClassOf(err error) Class { return classes[KindOf(err)] }
