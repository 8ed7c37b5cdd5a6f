package node

// Phase is how far an operation is. It is what its row says; what clients see is State.
type Phase string

// The phases. OperationStates says what holds in each.
const (
	Accepted Phase = "accepted"
	Running  Phase = "running"
	Waiting  Phase = "waiting"
	Holding  Phase = "holding"
	Undoing  Phase = "undoing"
	Ended    Phase = "ended"
)

// The states that clients see and that are no phases: the operation keeps its phase.
const (
	PausedState     Phase = "paused"
	CancellingState Phase = "cancelling"
)

// OperationState is a state of an operation as clients see it.
type OperationState struct {
	Name  Phase
	Holds string // what holds in it
	Acts  string // who may act
	Left  string // how it is left
}

// OperationStates are all states, in the order of an operation's life.
var OperationStates = []OperationState{
	{
		Accepted, "The request is committed, and no workflow has begun: begun_at is not set. The row is the outbox.",
		"The API starts the workflow; if it can't, reconciliation does.", "A run of the workflow makes it its own.",
	},
	{
		Running, "A step runs or is about to. It is not blocked.",
		"The conductor with the newest claim, or one that is about to take the steps from the queue.", "A step waits or holds, work is undone, or all is done.",
	},
	{
		Waiting, "It waits for the agent to call back or, if it is blocked, for a conductor, for the end of maintenance, or for the next try of a step during which conductors died. waiting_for and waiting_until say so.",
		"Its workflow looks at the row. Nobody touches the hardware.", "What it waits for is there, somebody asks for the end, or the time is over.",
	},
	{
		PausedState, "It is blocked because its node was put into maintenance, or somebody has paused it in Temporal. Its time limits stand still.",
		"Nobody. An operator may change the power and the boot device of a node in maintenance.", "Maintenance is lifted, or somebody unpauses it. It has kept its phase.",
	},
	{
		Holding, "It waits for a person: to unhold a hold step, or to decide about a step that has failed. It is never blocked, because a decision needs no conductor.",
		"Its workflow looks at the row and takes the decision.", "Somebody unholds, decides or asks for the end, or nobody decides in time.",
	},
	{
		Undoing, "A step has failed for good, and what the steps left half done is put right. No step begins any more.",
		"The conductor with the newest claim.", "It ends; what could not be undone is owed by the node. A reset of its workflow in Temporal makes it run again.",
	},
	{
		CancellingState, "As undoing, because somebody asked for the end. What has failed before that is undoing.",
		"The conductor with the newest claim.", "As undoing.",
	},
	{
		Ended, "outcome and ended_at are set. It is neither blocked nor paused, and waits for nothing.",
		"Nobody.", "Never. A retry is another operation.",
	},
}

// State returns the operation's state as clients see it.
func (o *Operation) State() Phase {
	if o.Phase != Ended && (o.TemporalPause != nil || o.Blocked == BlockedMaintenance) {
		return PausedState
	}
	return o.UnpausedState()
}

// UnpausedState returns the state that clients would see if nobody had paused o.
func (o *Operation) UnpausedState() Phase {
	if o.Phase == Undoing && o.Asked.Ends() && o.Cause == "" {
		return CancellingState
	}
	return o.Phase
}

// BlockReason is what keeps an operation from going on, whatever its steps wait for; "" = nothing.
// The database column is "stalled".
type BlockReason string

// The reasons. Only an operation in the phase Waiting is blocked. If its node is in maintenance
// and no conductor covers it either, the reason is maintenance.
const (
	NotBlocked         BlockReason = ""
	BlockedNoConductor BlockReason = "conductor"   // nobody covers the node
	BlockedMaintenance BlockReason = "maintenance" // the node was put into maintenance meanwhile
	BlockedDeaths      BlockReason = "deaths"      // the next try of the step is put off, because conductors died during it
)

// OperationInvariant is what holds for every operation, between any two changes of its row.
type OperationInvariant struct {
	Words string
	Holds func(*Operation) bool
}

// OperationInvariants are all invariants. The table operations has them as constraints, too,
// as far as they are about one row.
var OperationInvariants = []OperationInvariant{
	{"an operation has ended exactly if it has an outcome", func(o *Operation) bool {
		return (o.Phase == Ended) == (o.EndedAt != nil) && (o.EndedAt != nil) == (o.Outcome != "")
	}},
	{"it is accepted exactly as long as no run has begun it, or it has ended before", func(o *Operation) bool {
		return (o.BegunAt == nil) == (o.RunID == "") && (o.Phase == Ended || (o.Phase == Accepted) == (o.BegunAt == nil))
	}},
	{"only an operation that is waiting is blocked", func(o *Operation) bool {
		return o.Blocked == NotBlocked || o.Phase == Waiting
	}},
	{"stalled says why it is blocked, and stalled_at since when; both are set exactly if it is", func(o *Operation) bool {
		return (o.Blocked == NotBlocked) == (o.BlockedAt == nil)
	}},
	{"what it waited for before, with the time left for it, is kept only while it is blocked", func(o *Operation) bool {
		return o.Blocked != NotBlocked || o.KeptFor == "" && o.KeptLeft == nil
	}},
	{"what was accepted in maintenance is never paused by it, and neither is a request for the power, the boot device or an NMI", func(o *Operation) bool {
		return !o.Paused || !o.InMaintenance && !o.Kind.Spec().RunsInMaintenance()
	}},
	{"only what is paused is orphaned", func(o *Operation) bool { return o.Paused || !o.Orphaned }},
	{"an operation has a cause exactly if it has an error", func(o *Operation) bool {
		return (o.Error == "") == (o.Cause == "")
	}},
	{"what has ended is not paused, and waits for nothing", func(o *Operation) bool {
		return o.Phase != Ended || !o.Paused && o.TemporalPause == nil && o.WaitingFor == "" && o.WaitingUntil == nil && o.StepWait == nil
	}},
}
