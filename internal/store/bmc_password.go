package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// SavePassword seals the password that the BMC of the operation's node is about to get. The error is fault.Lost if the claim is not the newest.
func (s *Store) SavePassword(ctx context.Context, operation int64, c node.Claim, p node.PendingPassword) error {
	return s.inClaim(ctx, "save a new password", operation, c, func(f *fenced, b *pgx.Batch) error {
		sealed, err := s.sealAll(&f.Node, node.Secrets{node.PendingPasswordSecret: p})
		if err == nil {
			sealed.queue(b, f.ID)
		}
		return err
	})
}

const pendingPasswordSQL = `
SELECT s.name, s.seal, s.ciphertext FROM operations o JOIN secrets s ON s.node_id = o.node_id AND s.name = @name WHERE o.id = @id`

// SettlePassword forgets the pending password of the operation's node. If the BMC has taken it, it becomes the node's in the same
// transaction. Without a pending password nothing is done. The error is fault.Lost if the claim is not the newest.
func (s *Store) SettlePassword(ctx context.Context, operation int64, c node.Claim, taken bool) error {
	var x sealedText
	return s.inClaimAfter(ctx, "settle a new password", operation, c, func(b *pgx.Batch) {
		b.Queue(pendingPasswordSQL, args{"id": operation, "name": node.PendingPasswordSecret}).QueryRow(maybe(new(bool), func(r pgx.Row) (err error) {
			x, err = scanSealed(r)
			return err
		}))
	}, func(f *fenced, b *pgx.Batch) error {
		if x.text == nil {
			return nil
		}
		secrets := node.Secrets{node.PendingPasswordSecret: nil}
		if taken {
			v, err := s.unseal(&f.Node, x)
			if err != nil {
				return err
			}
			p := node.AsPendingPassword(v)
			if p == nil || p.Password == "" {
				return fault.New(fault.Internal, "the new password of node %s is not what was sealed", f.UUID)
			}
			for _, name := range p.Properties {
				secrets[inDriverInfo+"/"+name] = p.Password
			}
		}
		sealed, err := s.sealAll(&f.Node, secrets)
		if err == nil {
			sealed.queue(b, f.ID)
		}
		return err
	})
}

// settles returns the name of the pending password if a change gives secrets of driver_info: whoever gives the password of a BMC, or another
// BMC, knows what it is.
func settles(given node.Secrets) []string {
	for name := range given {
		if strings.HasPrefix(name, inDriverInfo+"/") {
			return []string{node.PendingPasswordSecret}
		}
	}
	return nil
}
