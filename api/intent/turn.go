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
	if !t.Patient() {
		return decide(n)
	}
	held := n.Operation != nil
	_, waits, err := s.Judge(n, decide)
	switch {
	case waits:
		return &node.HeldBriefly{UUID: n.UUID, Refusal: err}
	case err == nil && !held:
		return s.InOrder(t, n)
	}
	return err
}

// Judge returns what decide says about n, and the node that this is true of: n, or what n will be when an operation has ended
// that ends soon. If waits is set, a request waits for that end and is accepted then, and err is the refusal without the wait.
func (s *Service) Judge(n *node.Node, decide func(*node.Node) error) (of *node.Node, waits bool, err error) {
	as := *n // decide may change n before it refuses
	refusal := decide(n)
	if refusal == nil {
		return n, false, nil
	}
	after := s.unheld(&as)
	if after.Operation != nil || as.Operation == nil {
		return n, false, refusal
	}
	switch later := decide(after); {
	case later == nil:
		return after, true, refusal
	case as.Operation.Kind.Provisions(): // clients see the state that it has not left yet
		return n, false, refusal
	default:
		return after, false, later
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
