package intent

import (
	"context"
	"iter"
	"time"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/events"
	"go.temper.dev/temper/internal/inventory"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/share"
	"go.temper.dev/temper/internal/tokens"
	"go.temper.dev/temper/internal/webhook"
)

// Store is what the API reads and writes. Every method is one transaction, and
// errors have a kind (package fault). Callbacks run inside it with the node's
// row locked and change nothing by returning an error.
type Store interface {
	NodeStore
	AttentionStore
	HealthStore
	ReadingStore
	ConsoleStore
	SubscriptionStore
	RequestStore
	TraitStore
	ChassisStore
	PortStore
	PortgroupStore
	VolumeStore
	DeployTemplateStore
	RunbookStore
	AllocationStore
	ConductorStore
	RecordStore
	DiscoveryStore
	AgentStore
	ComputeStore
	WebhookStore
	AuditStore
	TokenStore
	events.Source
	lockwait.Ends
}

// WebhookStore keeps the webhooks and what was given up for them.
type WebhookStore interface {
	Webhooks(ctx context.Context) ([]webhook.Webhook, error)
	// Webhook returns the secret, too. If only that can't be read, it returns the webhook with the error.
	Webhook(ctx context.Context, name string) (w *webhook.Webhook, secret string, err error)
	CreateWebhook(ctx context.Context, w *webhook.Webhook, secret string) error
	ChangeWebhook(ctx context.Context, name string, edit func(w *webhook.Webhook) (secret string, err error)) error
	DeleteWebhook(ctx context.Context, name string) error
	DeadLetters(ctx context.Context, name string, after int64, limit int) ([]webhook.DeadLetter, error)
	// RedeliverEvents has a dead letter sent once more, or all (seq 0), and returns how many.
	RedeliverEvents(ctx context.Context, name string, seq int64) (int, error)
}

// AuditStore keeps who has asked for which change.
type AuditStore interface {
	// AuditEntries is a page of the audit, the newest first.
	AuditEntries(ctx context.Context, f audit.Filter) ([]audit.Entry, error)
}

// TokenStore keeps the tokens of service accounts.
type TokenStore interface {
	Tokens(ctx context.Context, marker string, limit int) ([]tokens.Token, error)
	// CreateToken keeps a token that expires after some time, 0 = never. It fills in the times of t.
	CreateToken(ctx context.Context, t *tokens.Token, hash []byte, expires time.Duration) error
	// RevokeToken returns fault.NotFound if there is no such token.
	RevokeToken(ctx context.Context, id, by string) error
}

// NodeStore keeps the nodes. An ident is a uuid or a name.
type NodeStore interface {
	// Node gives a node with its open operation and its agent.
	Node(ctx context.Context, ident string) (*node.Node, error)
	Nodes(ctx context.Context, f node.Filter, p node.Page) ([]node.Node, error)
	NodeAndConductors(ctx context.Context, ident string) (*node.Listed, []coverage.Conductor, error)
	EachNode(ctx context.Context, f node.Filter, p node.Page) iter.Seq2[*node.Listed, error]
	// NodesByUUID gives the nodes of these uuids that exist, with their open operations and agents.
	NodesByUUID(ctx context.Context, uuids []string) ([]node.Node, error)
	OwnerStore
	// Available are nodes that can be offered now, by the heartbeats of this moment.
	Available(ctx context.Context, f node.AvailableFilter) ([]node.Offer, error)
	// CreateNode sets ID and CreatedAt.
	CreateNode(ctx context.Context, n *node.Node, secrets node.Secrets, user string) error
	// ClaimNode writes the columns that a user may set, as edit leaves them. If claimer names a
	// compute service, a new instance_uuid belongs to it, and the error is fault.Conflict if the
	// node is not in its share.
	ClaimNode(ctx context.Context, ident, user string, claimer share.Claimer, edit func(*node.Node) (node.Secrets, error)) (*node.Node, error)
	// DeleteNode ends an open operation together with its node.
	DeleteNode(ctx context.Context, ident, user string, check func(*node.Node) error) error
	// SetMaintenance pauses the open operation, or lets it go on, and returns it; nil = none.
	SetMaintenance(ctx context.Context, ident string, on bool, reason, user string) (*node.Operation, error)
}

// OwnerStore says which projects what belongs to. Each method takes what the path of a request has: a uuid or a name, or an operation's
// number. The error is fault.NotFound, as for what does not exist, if the view does not show it.
type OwnerStore interface {
	NodeOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	PortOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	PortgroupOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	VolumeConnectorOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	VolumeTargetOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	AllocationOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	RunbookOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	OperationOwners(ctx context.Context, ident string, v *node.View) (node.Owners, error)
	// OwnersOfNodes gives the projects of the nodes of these uuids that exist.
	OwnersOfNodes(ctx context.Context, uuids []string) (map[string]node.Owners, error)
}

// AttentionStore says which nodes need a person.
type AttentionStore interface {
	Attention(ctx context.Context, f node.AttentionFilter) ([]node.Attention, error)
	AttentionGroups(ctx context.Context, f node.AttentionFilter) ([]node.AttentionGroup, error)
}

// HealthStore has the health of nodes as conductors read it. An ident is a uuid or a name.
type HealthStore interface {
	// NodeHealth returns the health of a node. If it was never read, its status is unknown.
	NodeHealth(ctx context.Context, ident string) (*node.NodeHealth, error)
	// HealthList returns nodes whose health was ever read, in order of age.
	HealthList(ctx context.Context, f node.HealthFilter) ([]node.NodeHealth, error)
}

// ReadingStore has what conductors read of nodes for lists.
type ReadingStore interface {
	// KeptReading returns what was read last through an interface of the node with this id; nil = nothing was.
	KeptReading(ctx context.Context, nodeID int64, iface string) (*node.KeptReading, error)
}

// ConsoleStore has the serial consoles that conductors hold open for clients.
type ConsoleStore interface {
	// EnableConsole records whether the console of a node is to be held open, unless allow returns an error.
	EnableConsole(ctx context.Context, ident string, on bool, user string, allow func(*node.Node) error) error
	// Console returns what the live holder of the console of the node with this id tells of it; the zero value = there is none.
	Console(ctx context.Context, id int64) (node.Console, error)
	// Logs returns the logs of the node with that id, the newest first.
	Logs(ctx context.Context, nodeID int64) ([]node.Log, error)
}

// SubscriptionStore knows who waits for events of BMCs.
type SubscriptionStore interface {
	// AnnounceBMCEvent tells the conductor that waits for the events of a subscription (node.SubscriptionID) that one has
	// come, and reports whether there is such a subscription.
	AnnounceBMCEvent(ctx context.Context, id string) (bool, error)
}

// RequestStore keeps the operations.
type RequestStore interface {
	// Request writes what decide returns, and returns the operation that it opened or
	// steered; nil if only the node changed.
	Request(ctx context.Context, ident string, decide func(*node.Node) (*node.Request, error)) (*node.Operation, error)
	// RequestOnce is Request for a request that may be sent twice. The second time it
	// returns the operation of the first one, without a call of decide.
	RequestOnce(ctx context.Context, ident string, once node.IdempotencyKey, decide func(*node.Node) (*node.Request, error)) (o *node.Operation, repeated bool, err error)
	// AskOperation records what somebody asks of an open operation. The error is
	// fault.Conflict if it has ended.
	AskOperation(ctx context.Context, id int64, ask node.Ask, by, reason string) (*node.Operation, error)
	// Waive waives what the node owes. It asks a running undo to end, and returns it.
	Waive(ctx context.Context, ident, user, reason string) (waived []node.Undo, undo *node.Operation, err error)
	// Retry writes what decide returns for an operation that has ended, to do it again.
	Retry(ctx context.Context, id int64, decide func(n *node.Node, old *node.Operation, newest bool) (*node.Request, error)) (*node.Operation, error)
	// Direct changes an open operation in place.
	Direct(ctx context.Context, id int64, edit func(*node.Node) (node.OperationChange, error)) (*node.Operation, error)
	CloseOperation(ctx context.Context, end node.End) (*node.Operation, error)
	// SayLostTemporal records that an operator says that Temporal has lost its data.
	SayLostTemporal(ctx context.Context, by, reason string) error
	Operation(ctx context.Context, id int64) (*node.Operation, error)
	// Timeline returns what happened to an operation between its beginning and its end,
	// oldest first.
	Timeline(ctx context.Context, id int64) ([]node.TimelineEntry, error)
	Outages(ctx context.Context, operation int64) ([]node.Outage, error)
	// UsualTimes returns how long steps usually take on n, with the image that it names, by
	// the names of the steps.
	UsualTimes(ctx context.Context, n *node.Node) (map[string]node.Usual, error)
	// Operations are sorted newest first.
	Operations(ctx context.Context, f node.OperationFilter) ([]node.Operation, error)
	// NewestEnded returns the newest operation of each kind of those of the node that have ended, the newest first.
	NewestEnded(ctx context.Context, nodeUUID string) ([]node.Operation, error)
}

// TraitStore keeps the traits of nodes.
type TraitStore interface {
	SetTraits(ctx context.Context, ident string, traits []string) error
	AddTrait(ctx context.Context, ident, trait string) error
	RemoveTrait(ctx context.Context, ident, trait string) error
}

// ChassisStore keeps the chassis.
type ChassisStore interface {
	ChassisList(ctx context.Context, p node.Page) ([]node.Chassis, error)
	Chassis(ctx context.Context, uuid string) (*node.Chassis, error)
	CreateChassis(ctx context.Context, c *node.Chassis) error
	UpdateChassis(ctx context.Context, uuid string, edit func(*node.Chassis) error) (*node.Chassis, error)
	// DeleteChassis returns fault.Invalid if nodes are in it.
	DeleteChassis(ctx context.Context, uuid string) error
}

// PortStore keeps the ports. An ident is a uuid or a name.
type PortStore interface {
	Ports(ctx context.Context, f node.PortFilter, p node.Page) ([]node.Port, error)
	Port(ctx context.Context, ident string) (*node.Port, error)
	CreatePort(ctx context.Context, p *node.Port) error
	// UpdatePort locks the row of the node of, a uuid, to which the port belongs before or after the change, and gives it to edit.
	UpdatePort(ctx context.Context, ident, of string, edit func(*node.Node, *node.Port) error) (*node.Port, error)
	DeletePort(ctx context.Context, ident string) error
}

// PortgroupStore keeps the port groups. An ident is a uuid or a name.
type PortgroupStore interface {
	Portgroups(ctx context.Context, f node.PortgroupFilter, p node.Page) ([]node.Portgroup, error)
	Portgroup(ctx context.Context, ident string) (*node.Portgroup, error)
	CreatePortgroup(ctx context.Context, g *node.Portgroup) error
	// UpdatePortgroup locks the row of the node of as UpdatePort does.
	UpdatePortgroup(ctx context.Context, ident, of string, edit func(*node.Node, *node.Portgroup) error) (*node.Portgroup, error)
	// DeletePortgroup returns fault.Invalid if the group has ports.
	DeletePortgroup(ctx context.Context, ident string) error
}

// VolumeStore keeps the volume connectors and targets; ofNode is the uuid or name of a node, nil = all. Who changes or deletes one
// locks the row of the node of, a uuid, to which it belongs before or after the change.
type VolumeStore interface {
	VolumeConnectors(ctx context.Context, ofNode *string, p node.Page) ([]node.VolumeConnector, error)
	VolumeConnector(ctx context.Context, uuid string) (*node.VolumeConnector, error)
	CreateVolumeConnector(ctx context.Context, v *node.VolumeConnector) error
	UpdateVolumeConnector(ctx context.Context, uuid, of string, edit func(*node.Node, *node.VolumeConnector) error) (*node.VolumeConnector, error)
	DeleteVolumeConnector(ctx context.Context, uuid, of string, allow func(*node.Node) error) error
	// VolumeTargets does not read the secrets, VolumeTarget does, as far as they open (node.Hidden).
	VolumeTargets(ctx context.Context, ofNode *string, p node.Page) ([]node.VolumeTarget, error)
	VolumeTarget(ctx context.Context, uuid string) (*node.VolumeTarget, error)
	CreateVolumeTarget(ctx context.Context, v *node.VolumeTarget) error
	UpdateVolumeTarget(ctx context.Context, uuid, of string, edit func(*node.Node, *node.VolumeTarget) error) (*node.VolumeTarget, error)
	DeleteVolumeTarget(ctx context.Context, uuid, of string, allow func(*node.Node) error) error
}

// DeployTemplateStore keeps the deploy templates. An ident is a uuid or a name.
type DeployTemplateStore interface {
	// DeployTemplates does not read the secrets, the others do, as far as they open (node.Hidden).
	DeployTemplates(ctx context.Context, p node.Page) ([]node.DeployTemplate, error)
	DeployTemplate(ctx context.Context, ident string) (*node.DeployTemplate, error)
	// DeployTemplatesOf are those that are named by traits of a node.
	DeployTemplatesOf(ctx context.Context, node string) ([]node.DeployTemplate, error)
	CreateDeployTemplate(ctx context.Context, t *node.DeployTemplate) error
	UpdateDeployTemplate(ctx context.Context, ident string, edit func(*node.DeployTemplate) error) (*node.DeployTemplate, error)
	DeleteDeployTemplate(ctx context.Context, ident string) error
}

// RunbookStore keeps the runbooks. An ident is a uuid or a name.
type RunbookStore interface {
	// Runbooks does not read the secrets, Runbook does, as far as they open (node.Hidden).
	Runbooks(ctx context.Context, p node.Page) ([]node.Runbook, error)
	Runbook(ctx context.Context, ident string) (*node.Runbook, error)
	CreateRunbook(ctx context.Context, b *node.Runbook) error
	UpdateRunbook(ctx context.Context, ident string, edit func(*node.Runbook) error) (*node.Runbook, error)
	DeleteRunbook(ctx context.Context, ident string) error
}

// AllocationStore keeps the allocations. An ident is a uuid or a name.
type AllocationStore interface {
	Allocations(ctx context.Context, f node.AllocationFilter, p node.Page) ([]node.Allocation, error)
	Allocation(ctx context.Context, ident string) (*node.Allocation, error)
	// Allocate finds a node for a, or records in a why there is none. If the search is patient
	// and a node would fit that is held briefly, it records nothing, and the error is
	// node.HeldBriefly.
	Allocate(ctx context.Context, a *node.Allocation, search node.AllocationSearch, user string) error
	// Backfill records an allocation for a node that is in use.
	Backfill(ctx context.Context, node string, a *node.Allocation, user string, allow func(*node.Node) error) error
	UpdateAllocation(ctx context.Context, ident string, edit func(*node.Allocation) error) (*node.Allocation, error)
	// DeleteAllocation asks allow where the allocation has a node.
	DeleteAllocation(ctx context.Context, ident, user string, allow func(*node.Node) error) error
	// NodeUUIDs are the uuids of those that exist and that the view shows, by what was asked for.
	NodeUUIDs(ctx context.Context, idents []string, v *node.View) (map[string]string, error)
}

// ConductorStore keeps the conductors; Alive is true by the database's clock.
type ConductorStore interface {
	Conductors(ctx context.Context) ([]coverage.Conductor, error)
	Conductor(ctx context.Context, hostname string) (*coverage.Conductor, error)
	// AskDrain asks a conductor to drain. Without force the error is fault.Conflict if it
	// is the last one that covers some node.
	AskDrain(ctx context.Context, hostname string, force bool) (*coverage.Conductor, error)
	// AskUndrain takes AskDrain back. The error is fault.Conflict if the conductor is not alive,
	// or is being stopped.
	AskUndrain(ctx context.Context, hostname string) (*coverage.Conductor, error)
	// ForgetConductor deletes a conductor. The error is fault.Conflict if it is alive.
	ForgetConductor(ctx context.Context, hostname string) error
	// Owned counts the nodes that each conductor owns in the newest epoch.
	Owned(ctx context.Context) (map[string]int, error)
	// Working counts the steps that each conductor runs now.
	Working(ctx context.Context) (map[string]int, error)
	// ConductorVersions returns the versions of conductors, by name.
	ConductorVersions(ctx context.Context) (map[string]string, error)
	// Served counts the nodes of each conductor group and driver.
	Served(ctx context.Context) ([]coverage.Served, error)
	// Fleet and RingNodes are what a ring is computed from.
	Fleet(ctx context.Context) (*coverage.Fleet, error)
	RingNodes(ctx context.Context, needs []int64) ([]coverage.RingNode, error)
	FleetHealth(ctx context.Context) (coverage.Health, error)
	// Names are the names of those nodes that have one, by uuid.
	Names(ctx context.Context, uuids []string) (map[string]string, error)
	// Quarantined counts the nodes that nobody covers now.
	Quarantined(ctx context.Context) ([]coverage.Quarantined, error)
}

// RecordStore keeps the histories and inventories of nodes.
type RecordStore interface {
	History(ctx context.Context, ident string, p node.Page) ([]node.HistoryEvent, error)
	// WholeHistory returns the history of all nodes that have had a UUID, DeletedNodes the
	// records of nodes that were deleted.
	WholeHistory(ctx context.Context, ident, marker string, limit int) ([]node.HistoryEvent, error)
	DeletedNodes(ctx context.Context, f node.DeletedFilter) ([]node.Deleted, error)
	Shards(ctx context.Context) ([]node.Shard, error)
	HistoryEvent(ctx context.Context, ident, uuid string) (*node.HistoryEvent, error)
	Inventory(ctx context.Context, ident string) (inventory, plugin map[string]any, err error)
	// Hardware compares the inventory of a node with the one before, and with other nodes of its resource class.
	Hardware(ctx context.Context, ident string) (*inventory.Comparison, error)
}

// DiscoveryStore keeps servers that are not enrolled.
type DiscoveryStore interface {
	Discoveries(ctx context.Context, after string, limit int) ([]node.Discovery, error)
	Discovery(ctx context.Context, uuid string) (node.Discovery, error)
	// PutDiscovery returns the uuid; fault.NotFound where a node has one of the MACs.
	PutDiscovery(ctx context.Context, d node.Discovery) (uuid string, err error)
	DeleteDiscovery(ctx context.Context, uuid string) error
}

// AgentStore keeps what ramdisk agents say.
type AgentStore interface {
	// AgentNode finds the node of an agent by its uuid or, without one, by MACs:
	// only one whose open operation uses an agent.
	AgentNode(ctx context.Context, uuid string, macs []string) (*node.Node, error)
	// AgentLookup returns the agent's token in the clear if decide says so, else "". A new
	// token is committed before it is returned.
	AgentLookup(ctx context.Context, nodeUUID, source string,
		decide func(revealed int, sameSource, heartbeatSeen bool) (reveal bool, newToken string)) (token string, err error)
	// AgentHeartbeat records a heartbeat that check accepts. first: none came
	// since the token was made. The operation is the open one.
	AgentHeartbeat(ctx context.Context, nodeUUID string, check func(known node.Agent, token string) error, a node.Agent) (first bool, o *node.Operation, err error)
	// AnyInspection says whether any node is being inspected.
	AnyInspection(ctx context.Context) (bool, error)
	// PutInventory records what the agent found on a node that waits for it;
	// fault.NotFound where it waits for none, or has one from another source. The
	// operation is the open one, nil where nothing is new.
	PutInventory(ctx context.Context, nodeUUID, source string, inventory, plugin map[string]any) (*node.Operation, error)
}

// ComputeStore keeps the compute services, their shares, and the instances.
type ComputeStore interface {
	ComputeServices(ctx context.Context) ([]share.Service, error)
	// ComputeHeartbeat registers a service or renews its lease. With a revision above 0 the
	// service has nodes only when an epoch that follows this revision is published.
	// ComputeUser gives the user who speaks for a service; "" = every client may.
	ComputeUser(ctx context.Context, host string) (string, error)
	ComputeHeartbeat(ctx context.Context, h share.Heartbeat) (v share.Service, epoch, revision int64, err error)
	StopCompute(ctx context.Context, host string, incarnation int64) error
	ForgetCompute(ctx context.Context, host string) (revision int64, err error)
	// MoveCompute gives the instances of from ("" = of nobody) to another service; node "" = all.
	MoveCompute(ctx context.Context, from, to, node string) (moved int, revision int64, err error)
	// PublishShares makes the next epoch, unless one that follows revision is published (0 = always).
	PublishShares(ctx context.Context, revision int64, decide func(share.State) []share.Row) (share.Published, error)
	// HandOverShares publishes an epoch with what services have acknowledged, if the published one is older than least.
	HandOverShares(ctx context.Context, least time.Duration) (share.Published, error)
	SharePage(ctx context.Context, host string, epoch int64, marker string, limit int) (share.Page, error)
	ShareOverview(ctx context.Context) (share.Overview, error)
	ShareState(ctx context.Context) (share.State, error)
	ConfirmAbsent(ctx context.Context, host string, instances []string) error
	MarkAbsent(ctx context.Context, instance string) error
	Instances(ctx context.Context, f share.InstanceFilter) ([]share.Instance, error)
}
