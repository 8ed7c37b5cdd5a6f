package plan

import (
	"cmp"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// FollowUp returns the operation of kind k that Temper opens on n by itself: after
// ended, which the caller closes in the same transaction, or, if ended is nil, on a
// node that nobody holds. by is who it is opened for.
//
// What follows an operation belongs to the same request. So it is asked for by whoever
// asked for the end, it does the same on failure, and maintenance that was set since
// the request was accepted pauses it, too.
func FollowUp(n *node.Node, ended *node.Operation, k node.OperationKind, by string, d node.Defaults) (*node.Operation, error) {
	o := &node.Operation{Kind: k, Origin: n.ProvisionState, RequestedBy: by}
	switch spec := k.Spec(); {
	case spec.GivesBack:
		o.Target, o.OnFailure = k.Verb().State, d.OnFailure
	case spec.Undoes:
	default:
		return nil, fault.New(fault.Internal, "nothing of kind %q follows by itself", k)
	}
	var err error
	if o.Steps, err = Steps(k, n, nil, Options{AutomatedClean: d.AutomatedClean}); err != nil {
		return nil, err
	}
	if ended != nil {
		o.OnFailure = cmp.Or(ended.OnFailure, o.OnFailure)
		o.InMaintenance = ended.InMaintenance
		o.Paused = n.Maintenance && !ended.InMaintenance
	}
	return o, nil
}
