package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newNodeHistory(s *session) *cobra.Command {
	var limit int
	var deleted bool
	c := &cobra.Command{
		Use: "history NODE", Short: "List what happened to a node", Args: cobra.ExactArgs(1),
		Long:    `List what happened to a node. The history of a deleted node is kept as long as "temper node list --deleted" lists it.`,
		Example: "  temper node history n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.Flags().BoolVar(&deleted, "deleted", false, "also show the history of deleted nodes that had the same uuid")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		ask := s.History
		if deleted {
			ask = s.WholeHistory
		}
		list, err := ask(ctx, args[0], limit)
		if !deleted && client.StatusOf(err) == http.StatusNotFound {
			if was, gone := s.WholeHistory(ctx, args[0], limit); gone == nil {
				list, err = was, nil
				fmt.Fprintf(s.err, "temper: %s was deleted; \"temper node list --deleted\" shows by whom\n", args[0])
			}
		}
		if err != nil {
			return withAdvice(err)
		}
		s.reportMore(list.More, limit, "events")
		return s.show(map[string]any{"history": orEmpty(list.Items)}, func(w io.Writer) error {
			return historyTable(list.Items).Print(w)
		})
	})
	return c
}

func historyTable(events []client.Event) table.Table {
	g := table.New("AT", "SEVERITY", "TYPE", "CONDUCTOR", "USER", "EVENT").Whole("AT").Wrap("EVENT")
	for _, e := range events {
		g.Add(table.Time(e.CreatedAt), e.Severity, e.EventType, e.Conductor, e.User, e.Event)
	}
	return g
}
