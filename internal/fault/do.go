package fault

// Do names something that somebody can do. The names are stable.
type Do string

// What somebody can do.
const (
	ExplainNode    Do = "explain what happens to the node"
	AskByName      Do = "ask for the node by its name"
	ValidateNode   Do = "validate the node"
	ShowHealth     Do = "show the health of the node"
	ShowConsole    Do = "show where the console of the node is, and what is wrong with it"
	ShowLogs       Do = "show what the agent of the node has logged"
	ShowPorts      Do = "list the ports of the node"
	ShowInventory  Do = "show how the hardware of the node differs"
	ChangeState    Do = "change the provision state"
	DeployImage    Do = "deploy an image" // the node has none yet, or a request names one that can't be used
	UnholdNode     Do = "unhold the node"
	RecoverNode    Do = "recover the node"
	TakeNode       Do = "take the node" // recover it by force
	WaiveUndo      Do = "waive the undo"
	EndMaintenance Do = "end the maintenance"
	Unprotect      Do = "end the node's protection"
	ChangeGroup    Do = "change the conductor group"
	SetPassword    Do = "set the BMC's password"
	SetAddress     Do = "set the BMC's address"
	ProbeBMC       Do = "ask the BMC directly"
	SwitchOn       Do = "switch the node on"
	TrustBMC       Do = "set the authority of the BMC's certificate"
	SetImage       Do = "set the image"
	SetDigest      Do = "set the image's digest"
	SetFormat      Do = "set the image's format"
	SetRootDevice  Do = "set the root device hints"
	DeployToDisk   Do = "deploy with other root device hints" // a request names hints that no disk fits

	WatchOperation   Do = "watch the operation"
	CancelOperation  Do = "cancel the operation"
	UnpauseOperation Do = "unpause the operation" // it is paused in Temporal
	RetryOperation   Do = "retry the operation"   // it has ended
	Decide           Do = "decide"                // about the step that failed: Action.Decision
	SayTemporalLost  Do = "say that Temporal has lost its data"

	ShowStatus     Do = "show which parts of Temper are broken"
	ListNeedy      Do = "list the nodes that need a person for one reason"
	ListNodes      Do = "list the nodes"
	ListPorts      Do = "list the ports"
	ListOperations Do = "list the operations"
	ListConductors Do = "list the conductors"

	StartConductor    Do = "start a conductor"
	ForgetConductor   Do = "forget a conductor that is gone"
	StartOrchestrator Do = "start an orchestrator"

	ShowWebhook     Do = "show how the deliveries of a webhook go"
	ListDeadLetters Do = "list the dead letters of a webhook"
	Redeliver       Do = "redeliver the dead letters of a webhook"
)
