package node

import "time"

// Secrets are sealed values by path: "driver_info/redfish_password",
// "instance_info/configdrive", "operation/12/steps/3/args/password". A nil value
// in a change deletes. Never logged, never in a payload.
type Secrets map[string]any

// Progress is what a step records, in one transaction that checks the operation and the
// claim.
type Progress struct {
	Steps []Step // all steps, as they are now
	Undo  []Undo // what would have to be put right if it ended now

	Phase        Phase // "" = leave
	WaitingFor   string
	WaitingUntil *time.Time // both written as they are: empty clears
	UsualUntil   *time.Time // Operation.UsualUntil, also written as it is
	StepWait     *Wait      // written as it is: nil clears

	News       []News        // added to the operation's timeline
	Known      *Operation    // the operation as its conductor knows its row; nil = it is read
	Rests      bool          // the current step is handed over: Operation.Rests
	Came       bool          // the claim had a result: progress, a failure, or an orderly end
	Move       Event         // moves the node by the life-cycle table; "" = stays
	Power      PowerState    // read from the hardware; "" = not read
	PowerAge   time.Duration // how long ago Power was read
	BootMode   string        // "" = not read
	LastError  string        // the node's; "" = leave
	Internal   map[string]any
	ClearAgent bool // forgets url, token and heartbeats: a new boot begins
	// OwedDone is what the node no longer owes, because it was done just now or the
	// operation has taken it over. Refused means that the hardware refuses the rest
	// for good.
	OwedDone []Undo
	Refused  bool
	ClearAsk bool // the operation has acted on Asked
	// InFlight is what may still take effect of the requests to the BMC, nil = as recorded.
	// AnswerWithin is how long its answers are awaited by now, 0 = as recorded.
	InFlight     *BMCRequest
	AnswerWithin time.Duration
}

// BMCRequest is a request to a node's BMC that changes something, while it may take effect.
type BMCRequest struct {
	Name         string        // bmc.Request.Name
	Conductor    string        // that sent it
	Left         time.Duration // until it can't take effect any more
	AnswerWithin time.Duration // how long its answer is awaited
	Repeated     bool          // it was sent while an earlier one of the same name could take effect
}

// MaxFoundPorts is the number of ports from which on inspections make no more ports
// for a node.
const MaxFoundPorts = 128

// Inspection is what an inspection found.
type Inspection struct {
	Properties map[string]any // merged into the node's
	Ports      []Port         // made for new addresses; a port that exists gets LocalLinkConnection if it has none, and else stays as it is
	Inventory  map[string]any // nil = keep what is stored
	PluginData map[string]any
	BootMode   string
	SecureBoot *bool // whether secure boot is enabled; nil = keep what is stored
}
