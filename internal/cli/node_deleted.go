package cli

import (
	"context"
	"io"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// listDeletedNodes shows the records of nodes that were deleted.
func listDeletedNodes(ctx context.Context, s *session, limit int) error {
	if err := checkLimit(limit); err != nil {
		return err
	}
	list, err := s.Deleted(ctx, "", limit)
	if err != nil {
		return err
	}
	s.reportMore(list.More, limit, "nodes")
	return s.show(map[string]any{"nodes": orEmpty(list.Items)}, func(w io.Writer) error {
		return deletedTable(list.Items).Print(w)
	})
}

func deletedTable(nodes []client.Deleted) table.Table {
	g := table.New("UUID", "NAME", "STATE", "DRIVER", "DELETED", "BY")
	for _, d := range nodes {
		g.Add(d.UUID, d.Name, d.ProvisionState, d.Driver, table.Time(d.DeletedAt), d.DeletedBy)
	}
	return g
}
