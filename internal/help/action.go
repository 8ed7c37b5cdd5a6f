package help

import (
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Action is something that somebody can do about a node. Which fields are set depends on
// Do; the node is the one that is explained.
type Action struct {
	Do        fault.Do
	Operation int64              // of WatchOperation, CancelOperation, UnpauseOperation, Decide, RetryOperation
	Kind      node.OperationKind // of the Operation of RetryOperation
	Decision  node.Action        // of Decide
	Event     node.Event         // of ChangeState, DeployImage, DeployToDisk
	Conductor string             // of ForgetConductor, StartConductor; "" = the host's name
	Reason    node.Reason        // of ListNeedy
	Cause     fault.Code         // of ListNeedy; "" = whatever the cause is
	Webhook   string             // of ShowWebhook, ListDeadLetters, Redeliver
	Group     string             // of ChangeGroup, StartConductor; "" = the default group
	Drivers   string             // that the conductor of StartConductor is to have, with commas between them; "" = as it is configured
	Settings  string             // the file with the settings of StartConductor, StartOrchestrator; "" = the environment has them
}
