package store

import (
	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// underNode is a node whose row is locked while something that belongs to it is written: a port, a port group or a volume. What may be
// written depends on the node's state, maintenance and open operation, which nobody changes meanwhile. The lock comes before that of
// what is written, as when a node is deleted with all that belongs to it.
type underNode struct {
	lockedNode
	uuid string // "" = no node is locked
}

func (u *underNode) queueLock(b *pgx.Batch) {
	if u.uuid != "" {
		u.lockedNode.queueLock(b, u.uuid)
	}
}

// missing returns the error for a node that does not exist.
func (u *underNode) missing() error {
	if u.uuid == "" || u.found() {
		return nil
	}
	return node.NotFound(words(u.uuid, 64))
}

// concerns refuses a write of what belonged to the node before, and belongs to the node after, if neither is the one that is locked:
// somebody has moved it meanwhile.
func (u *underNode) concerns(what, before, after string) error {
	if u.uuid == "" || before == u.UUID || after == u.UUID {
		return nil
	}
	return fault.New(fault.Conflict, "%s was moved to node %s meanwhile; send the request again if it is still meant", what, before)
}
