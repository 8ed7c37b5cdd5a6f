package node

import "time"

// Request is what a client's request does to a node. At most one of Open, Steer and Join is set; if
// none is, the node is only moved and edited.
type Request struct {
	// Open is the operation to insert: Kind, Target, RequestedBy, Steps, Undo,
	// PowerTarget, SoftTimeout, RetryOf, OnFailure. Origin, Group and Driver are the node's.
	Open  *Operation
	Steer *Steer
	// Join: the open operation is doing what is asked for anyway, so nothing is written. It is the
	// operation of this request, too.
	Join bool
	// Move is the way of the node along the life-cycle table; nil = it stays.
	Move []Event
	// Apply edits the node after the move: last_error, target_power_state,
	// maintenance and fault, instance_*, allocation, lessee, driver_internal_info,
	// target_raid_config. Nothing else is written, and the provision state is not
	// to be changed here.
	Apply func(*Node)
	// Secrets to seal or (nil) delete. Names that begin with "steps/" are those
	// of the operation that is opened: kept as "operation/ID/steps/...".
	Secrets Secrets
	// EndNow: what Steer asks for is done at once, here, because nobody works on
	// the open operation and nobody could: it ends as cancelled, and what it left
	// is owed. Defaults are those of the operation that follows a deleted.
	EndNow   bool
	Defaults Defaults
	Event    string // line for the node's history; "" = one is made
	User     string // who asked
}

// Steer is an ask of the open operation, and who asks.
type Steer struct {
	Ask    Ask
	By     string
	Reason string
	Power  PowerState // of AskPower
	// OnFailure is, for AskDelete, that of the operation that follows; "" = that of
	// the operation that is steered.
	OnFailure OnFailure
}

// IdempotencyKey makes a request take effect once, however often it is sent. For
// IdempotencyKeyLifetime, a request with the same key gets the first request's operation.
type IdempotencyKey struct {
	Key    string // of the client's choice, per node; "" = every request counts
	Digest []byte // of the request's body
}

// IdempotencyKeyLifetime is how long a key is remembered.
const IdempotencyKeyLifetime = 24 * time.Hour
