package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/node"
)

// OperationStore is the database as steps use it. Each write has an effect only if the claim
// is the operation's newest one; else the error is fault.Lost.
type OperationStore interface {
	// Claim takes the operation for an attempt that Temporal started at started, and
	// returns the node, whose operation has the new claim.
	Claim(ctx context.Context, operation int64, runID string, c node.Claim, started time.Time, conductor string) (*node.Node, error)
	CheckClaim(ctx context.Context, operation int64, c node.Claim) (node.Ask, error)
	// StartRequest is CheckClaim right before a request to the node's BMC, which it records.
	StartRequest(ctx context.Context, operation int64, c node.Claim, r node.BMCRequest) (node.Ask, error)
	SaveSteps(ctx context.Context, operation int64, c node.Claim, p node.Progress) (node.Ask, error)
	// TellWait writes what the running step waits for, and returns what CheckClaim does. known is the operation as the conductor knows its
	// row, and becomes what the row is now.
	TellWait(ctx context.Context, known *node.Operation, c node.Claim, w *node.Wait) (node.Ask, error)
	// HandOver records that the conductor has stopped working on the step, so that another
	// one may continue it at once. p is the pause in Temporal that is the reason; it may be nil. Of
	// known only InFlight and AnswerWithin are recorded.
	HandOver(ctx context.Context, operation int64, c node.Claim, p *node.Pause, known node.Progress) error
	// SavePassword seals a password that the BMC is about to get. SettlePassword ends that: the password becomes the node's if the BMC
	// has it, and is forgotten if not.
	SavePassword(ctx context.Context, operation int64, c node.Claim, p node.PendingPassword) error
	SettlePassword(ctx context.Context, operation int64, c node.Claim, taken bool) error
	SilenceStore
	ReadingStore
	SaveInspection(ctx context.Context, operation int64, c node.Claim, i node.Inspection) (leftOut int, err error)
	// SaveRAID writes the node's raid_config.
	SaveRAID(ctx context.Context, operation int64, c node.Claim, config map[string]any) error
	// StillDead returns the deaths without those of conductors that have turned out
	// to be alive.
	StillDead(ctx context.Context, deaths []node.Death) ([]node.Death, error)
	// Credentials decrypts n's secrets, which are bound to the BMC that n names.
	Credentials(ctx context.Context, n *node.Node) (node.Secrets, error)
	Node(ctx context.Context, ident string) (*node.Node, error)
	AgentToken(ctx context.Context, nodeUUID string) (string, error)
	// BeginBoot lets the agent of the next boot be looked up, and stores its medium and its token; m = nil = the medium is not
	// Temper's. It returns the token of this boot if there is one already.
	BeginBoot(ctx context.Context, operation int64, c node.Claim, m *node.BootMedium) (token string, err error)
	NodePorts(ctx context.Context, nodeUUID string) ([]node.Port, error)
	Covering(ctx context.Context, nodeUUID string) ([]node.Host, error)
	// SaveLog keeps a log of the node, and drops the oldest ones.
	SaveLog(ctx context.Context, nodeUUID string, l node.Log) (id int64, err error)
	Inventory(ctx context.Context, nodeUUID string) (inventory, plugin map[string]any, err error)
}
