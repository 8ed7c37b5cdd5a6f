package main

import (
	"context"
	"io"

	"go.temper.dev/temper/internal/client"
)

// listDeletedNodes shows the records of nodes that were deleted.
func listDeletedNodes(ctx context.Context, a *asker, limit int) error {
	if err := goodLimit(limit); err != nil {
		return err
	}
	list, err := a.Deleted(ctx, "", limit)
	if err != nil {
		return err
	}
	a.noteMore(list.More, limit, "nodes")
	return a.show(map[string]any{"nodes": orEmpty(list.Items)}, func(w io.Writer) error {
		return deletedTable(list.Items).writeTo(w)
	})
}

func deletedTable(nodes []client.Deleted) grid {
	g := newGrid("UUID", "NAME", "STATE", "DRIVER", "DELETED", "BY")
	for _, d := range nodes {
		g.add(d.UUID, d.Name, d.ProvisionState, d.Driver, moment(d.DeletedAt), d.DeletedBy)
	}
	return g
}
