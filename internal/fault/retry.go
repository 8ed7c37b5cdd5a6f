package fault

// Class says whether a failed step is retried, and by whom. Activities use it to retry, workflows to
// hold for a decision.
type Class int

// The classes of error.
const (
	Never         Class = iota // a retry can't help and may do harm
	Transient                  // retried with growing pauses
	WaitBusy                   // retried after the pause that the other side asked for
	NeedsOperator              // retried only if a person decides so
)

var classes = map[Kind]Class{
	Unavailable: Transient, Unreachable: Transient, Busy: WaitBusy,
	Internal: NeedsOperator, Refused: NeedsOperator, Untrusted: NeedsOperator, Denied: NeedsOperator,
	OutcomeUnknown: NeedsOperator,
	Invalid:        NeedsOperator, // a person can correct the input while the operation holds
}

// ClassOfKind returns the class of a kind. A kind that is not in the table is Never.
func ClassOfKind(k Kind) Class { return classes[k] }

// ClassOf returns the class of err's kind.
func ClassOf(err error) Class { return classes[KindOf(err)] }
