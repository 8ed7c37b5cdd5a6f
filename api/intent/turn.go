package intent

import (
	"context"

	"go.temper.dev/temper/internal/closing"
	"go.temper.dev/temper/internal/lockwait"
	"go.temper.dev/temper/internal/node"
)

// InTurn calls try. If Admit refuses in it because an operation that ends soon holds the node, the request waits for the end,
// NodeLockedWait at most, and try is called again. Before that the conductors are read again into fl, unless fl is nil.
func (s *Service) InTurn(ctx context.Context, fl *Fleet, try func(*lockwait.Turn) error) error {
	return s.queues.Do(ctx, func(t *lockwait.Turn) error {
		if t.Again() && fl != nil {
			now, err := s.Fleet(ctx)
			if err != nil {
				return err
			}
			fl.All, fl.rings = now.All, now.rings
		}
		return try(t)
	})
}

// LockWaits describes the requests of this process that wait for the end of operations.
func (s *Service) LockWaits() lockwait.Health { return s.queues.Health() }

// Admit returns what decide says about n, whose row is locked. If decide refuses only because of the open operation, and that
// ends soon, the error has the request wait. Whatever else would be refused is refused at once.
func (s *Service) Admit(t *lockwait.Turn, n *node.Node, decide func(*node.Node) error) error {
	as := *n // decide may change n before it refuses
	refusal := decide(n)
	switch {
	case refusal == nil && as.Operation == nil:
		return s.InOrder(t, n)
	case refusal == nil || as.Operation == nil || !t.Patient():
		return refusal
	}
	after := s.unheld(&as)
	if after.Operation != nil {
		return refusal
	}
	switch later := decide(after); {
	case later == nil:
		return &node.HeldBriefly{UUID: n.UUID, Refusal: refusal}
	case as.Operation.Kind.Provisions(): // clients see the state that it has not left yet
		return refusal
	default:
		return later
	}
}

// unheld returns n as it will be when the end of its open operation has been waited for; n itself if that is not waited for.
func (s *Service) unheld(n *node.Node) *node.Node {
	if s.NodeLockedWait > 0 {
		if after, ok := closing.Soon(n, s.Now()); ok {
			return after
		}
	}
	return n
}

// InOrder returns an error that has the request wait if requests for n wait that came before it.
func (s *Service) InOrder(t *lockwait.Turn, n *node.Node) error {
	if !t.Behind(n.UUID) {
		return nil
	}
	return &node.HeldBriefly{UUID: n.UUID, Refusal: Helped(node.Locked(n, "another request"), n, "")}
}
