package node

import "go.temper.dev/temper/internal/fault"

// Defaults are the settings by which Temper plans operations that no request describes.
type Defaults struct {
	AutomatedClean bool      // for nodes that do not set automated_clean
	OnFailure      OnFailure // of the operation
}

// EndAbandoned returns the end of an operation that nobody works on any more, and whose
// workflow does not end it: by is who ends it, why is for people. Nobody undoes what it
// has left, so the node owes that.
func (o *Operation) EndAbandoned(by string, why Failure, d Defaults) End {
	outcome := Failed
	if o.Asked.Ends() {
		outcome = Cancelled
	}
	return End{Operation: o.ID, RunID: o.RunID, Outcome: outcome, Error: why.Error, Cause: why.Cause, By: by, Abandoned: true, Defaults: d}
}

// End is how an operation is to be closed.
type End struct {
	Operation int64
	RunID     string // closed only if the row has this run; "" = whatever it has
	Outcome   Outcome
	Error     string     // why it has not succeeded; "" = the outcome alone says it
	Cause     fault.Code // of Error
	By        string     // the person who ended it; "" = nobody did
	// Abandoned: no undo was tried, so that everything that the operation's steps have
	// left is owed (UndoAtEnd).
	Abandoned bool
	// Again: it was closed before, with this outcome, and the record of that was lost. Nothing that the row says is left to undo.
	Again    bool
	Defaults Defaults // of the operation that follows, if one does
}

// AskedCause returns the cause of an end of o that somebody asked for.
func (o *Operation) AskedCause() fault.Code {
	decided := len(o.Decisions) > 0 && o.Decisions[len(o.Decisions)-1].Action == ActionAbort
	if o.Asked == AskAbort || decided {
		return fault.AbortedByPerson
	}
	return fault.CancelledByPerson
}
