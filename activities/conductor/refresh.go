package conductor

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// refreshPage is how many nodes are read from the database at once.
const refreshPage = 500

// SecretStore reads the secrets of nodes.
type SecretStore interface {
	// DriverSecrets returns the secrets of driver_info by the id of the node. A node whose
	// secrets can't be decrypted is missing.
	DriverSecrets(ctx context.Context, nodes []node.Node) (map[int64]node.Secrets, error)
}

// refresh reads something from the BMC of each node that a conductor owns: page by page, and atOnce nodes at the same time. T is a
// node with whatever else read needs.
type refresh[T any] struct {
	self    coverage.Conductor
	secrets SecretStore
	atOnce  int
	// due returns the next page: nodes with greater ids than after, at most limit.
	due func(ctx context.Context, hostname string, drivers []string, after int64, limit int) ([]T, error)
	of  func(*T) *node.Node // the node of a T
	// read reads one node; sealed is nil if its secrets can't be decrypted. An error ends the refresh.
	read func(ctx context.Context, one *T, sealed node.Secrets) error
	// afterPage is called when the reading of all nodes of a page has begun, and once more at the end; nil = it is not called.
	afterPage func(ctx context.Context) error
}

// all reads all nodes once, and returns the ids of those that were due.
func (r refresh[T]) all(ctx context.Context) (map[int64]bool, error) {
	g, reading := errgroup.WithContext(ctx)
	g.SetLimit(r.atOnce)
	seen := map[int64]bool{}
	err := r.pages(reading, g, seen)
	if failed := g.Wait(); failed != nil {
		err = failed // it has ended the reading of pages, too
	} else if err == nil {
		err = ctx.Err()
	}
	if err == nil && r.afterPage != nil {
		err = r.afterPage(ctx)
	}
	return seen, err
}

// pages starts the reading of the nodes of all pages in g, and adds their ids to seen.
func (r refresh[T]) pages(ctx context.Context, g *errgroup.Group, seen map[int64]bool) error {
	drivers := slices.Sorted(maps.Keys(r.self.Interfaces))
	for after := int64(0); ; {
		due, err := r.due(ctx, r.self.Hostname, drivers, after, refreshPage)
		if err != nil || len(due) == 0 {
			return err
		}
		nodes := make([]node.Node, len(due))
		for i := range due {
			nodes[i] = *r.of(&due[i])
		}
		sealed, err := r.secrets.DriverSecrets(ctx, nodes)
		if err != nil {
			return err
		}
		for i := range due {
			id := nodes[i].ID
			after, seen[id] = id, true
			g.Go(func() error { return r.read(ctx, &due[i], sealed[id]) })
		}
		if len(due) < refreshPage {
			return nil
		}
		if r.afterPage == nil {
			continue
		}
		if err := r.afterPage(ctx); err != nil {
			return err
		}
	}
}

// openUnreserved opens a session with the BMC of a node on which this conductor has no operation.
func openUnreserved(ctx context.Context, drivers map[string]bmc.Driver, n *node.Node, sealed node.Secrets) (bmc.Session, error) {
	driver, ok := drivers[n.Driver]
	if !ok {
		return bmc.Session{}, fault.New(fault.Invalid, "this conductor has no driver %s", n.Driver)
	}
	if sealed == nil {
		return bmc.Session{}, fault.New(fault.Internal, "the secrets of node %s can't be decrypted", n.UUID)
	}
	return driver.Open(ctx, bmc.Target{
		Node: n.UUID, Info: secret.DriverInfo(n, sealed), LastPower: powerOf(n.PowerState),
	})
}
