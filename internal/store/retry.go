package store

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

const (
	// Power changes and undos do not count: what the steps of others did outlasts them.
	// A node that was deleted may have had the same uuid: its operations have no node_id.
	newestOperationSQL = `
SELECT coalesce(max(o.id) FILTER (WHERE o.node_id IS NOT NULL AND o.kind = ANY(@provisioning)), 0),
	coalesce(bool_or(o.id = @id AND o.node_id IS NULL), false)
  FROM operations o WHERE o.node_uuid = @uuid`

	operationSecretsSQL = `
SELECT s.name, s.seal, s.ciphertext FROM secrets s JOIN nodes n ON n.id = s.node_id WHERE n.uuid = @uuid AND starts_with(s.name, @prefix)`
)

// Retry is Request for doing again what an operation was to do that has ended.
// decide is told that one, and whether no other has provisioned the node since.
// The sealed arguments of its steps become the new operation's.
func (s *Store) Retry(ctx context.Context, id int64, decide func(n *node.Node, old *node.Operation, newest bool) (*node.Request, error)) (*node.Operation, error) {
	old, err := s.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	prefix := operationPrefix(id) + stepsPrefix
	secrets, err := s.operationSecrets(ctx, old.NodeUUID, prefix)
	if err != nil {
		return nil, err
	}
	r := request{store: s}
	var newest int64
	var others bool // it was an operation of a node that was deleted
	err = s.inTx(ctx, "retry an operation", func(b *pgx.Batch) {
		r.queueLock(b, old.NodeUUID)
		b.Queue(nextOperationSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&r.next) })
		b.Queue(newestOperationSQL, args{"uuid": old.NodeUUID, "id": id, "provisioning": provisioning}).QueryRow(func(row pgx.Row) error { return row.Scan(&newest, &others) })
	}, func(b *pgx.Batch) error {
		if !r.found() {
			return node.NotFound(old.NodeUUID)
		}
		audit.Of(ctx).OnNode(r.UUID, r.Name)
		if others {
			return fault.New(fault.NotAllowed, "Operation %d was of a node that was deleted since; the node of the same uuid %s is another one.", id, old.NodeUUID)
		}
		r.held = r.Operation
		req, err := decide(&r.Node, old, newest == id)
		if err != nil {
			return err
		}
		if req.Secrets == nil {
			req.Secrets = node.Secrets{}
		}
		kept := map[string]any{}
		for name, v := range secrets {
			kept[strings.TrimPrefix(name, prefix)] = v
			req.Secrets[stepsPrefix+strings.TrimPrefix(name, prefix)] = v
		}
		if step, lost := secret.Lost(req.Open.Steps, kept); lost {
			return fault.New(fault.NotAllowed, "The secret arguments of step %s of operation %d are not kept any more: make a new request.", step, id)
		}
		r.Request = req
		audit.Of(ctx).Opens(r.next)
		return r.queue(b)
	})
	if err != nil {
		return nil, err
	}
	return r.out, nil
}

func (s *Store) operationSecrets(ctx context.Context, nodeUUID, prefix string) (node.Secrets, error) {
	out := node.Secrets{}
	_, err := list(ctx, s, "read the secrets of an operation", operationSecretsSQL, args{"uuid": nodeUUID, "prefix": prefix}, func(r pgx.Row) (name string, err error) {
		x, err := scanSealed(r)
		if err != nil {
			return "", err
		}
		out[x.name], err = s.unseal(&node.Node{UUID: nodeUUID}, x) // no value of the node decides where arguments go
		return x.name, err
	})
	return out, err
}

const (
	dropAllOperationSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND starts_with(name, 'operation/')`

	dropOperationSecretsSQL = `DELETE FROM secrets WHERE node_id = @node AND starts_with(name, @prefix)`

	// dropStaleSecretsSQL bounds what failures in a row leave.
	dropStaleSecretsSQL = `
DELETE FROM secrets s WHERE s.node_id = @node AND starts_with(s.name, 'operation/')
   AND split_part(s.name, '/', 2)::bigint < (SELECT o.id FROM operations o WHERE o.node_uuid = @uuid ORDER BY o.id DESC OFFSET 20 LIMIT 1)`
)

// queueForgetArguments deletes the encrypted arguments of steps that can't be retried any more: all of
// the node's when it was provisioned, the operation's own when another kind has succeeded, else those of old operations.
func (c *closingTx) queueForgetArguments(b *pgx.Batch) {
	provisions, succeeded := c.op.Kind.Provisions(), c.end.Outcome == node.Succeeded
	switch {
	case !provisions && !hasSealedArguments(c.op.Steps):
	case provisions && succeeded:
		b.Queue(dropAllOperationSecretsSQL, args{"node": c.ID})
	case succeeded:
		b.Queue(dropOperationSecretsSQL, args{"node": c.ID, "prefix": operationPrefix(c.op.ID)})
	default:
		b.Queue(dropStaleSecretsSQL, args{"node": c.ID, "uuid": c.UUID})
	}
}

// hasSealedArguments reports whether the arguments of any of the steps have the mask in a secret's place.
func hasSealedArguments(steps []node.Step) bool {
	return slices.ContainsFunc(steps, func(s node.Step) bool { return holdsMasked(s.Args) })
}
