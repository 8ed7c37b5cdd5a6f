package store_test

import "go.temper.dev/temper/internal/node"

// Reconciliation decides in SQL, for all operations in one statement, which workflows it notifies (Store.Asked and
// Store.StaleWaits). The functions of this file are the rules that the walk over operations holds these statements against.

// waitIsStale reports whether the workflow of o waits for something else than it
// should and has to read the row again: a conductor is back or gone, maintenance was lifted,
// or the conductor of a paused operation has died. It is false for a workflow that waits for
// the next try of a step, which wakes up by itself, and for one that is paused in Temporal,
// which can't be notified.
func waitIsStale(o *node.Operation, c node.Coverage) bool {
	if o.Phase != node.Waiting || o.TemporalPause != nil || o.Asked.Interrupts() {
		return false
	}
	if c.PutOff = 0; o.Blocked == node.BlockedDeaths {
		c.PutOff = 1
	}
	died := o.Orphaned || c.Last.StoppedFor == 0 && !c.Last.Alive
	return o.Blocked != node.BlockReasonOf(o, c) || o.Paused && o.Conductor != "" && o.Begun() && died
}
