package node

import (
	"cmp"

	"go.temper.dev/temper/internal/fault"
)

// Defaults are the settings by which Temper plans operations that no request describes.
type Defaults struct {
	AutomatedClean bool      // for nodes that do not say
	OnFailure      OnFailure // of the operation
}

// FollowUp returns the operation of kind k that Temper opens on n by itself: after
// ended, which the caller closes in the same transaction, or, if ended is nil, on a
// node that nobody holds. by is who it is opened for.
//
// What follows an operation belongs to the same request. So it is asked for by whoever
// asked for the end, it does the same on failure, and maintenance that was set since
// the request was accepted pauses it, too.
func FollowUp(n *Node, ended *Operation, k Kind, by string, d Defaults) (*Operation, error) {
	o := &Operation{Kind: k, Origin: n.ProvisionState, RequestedBy: by}
	switch spec := k.Spec(); {
	case spec.GivesBack:
		o.Target, o.OnFailure = VerbOf(spec.Verb).State, d.OnFailure
	case spec.Undoes:
	default:
		return nil, fault.New(fault.Internal, "nothing of kind %q follows by itself", k)
	}
	var err error
	if o.Steps, err = Plan(k, n, nil, PlanOptions{AutomatedClean: d.AutomatedClean}); err != nil {
		return nil, err
	}
	if ended != nil {
		o.OnFailure = cmp.Or(ended.OnFailure, o.OnFailure)
		o.InMaintenance = ended.InMaintenance
		o.Paused = n.Maintenance && !ended.InMaintenance
	}
	return o, nil
}

// EndAbandoned returns the end of an operation that nobody works on any more, and whose
// workflow does not end it: by is who ends it, why is for people. Nobody undoes what it
// has left, so the node owes that.
func (o *Operation) EndAbandoned(by, why string, d Defaults) End {
	outcome := Failed
	if o.Asked.Ends() {
		outcome = Cancelled
	}
	return End{Operation: o.ID, RunID: o.RunID, Outcome: outcome, Error: why, By: by, Abandoned: true, Defaults: d}
}
