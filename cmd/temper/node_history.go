package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newNodeHistory(a *asker) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "history NODE", Short: "List what happened to a node", Args: cobra.ExactArgs(1),
		Example: "  temper node history n1", ValidArgsFunction: a.completeNodes("", 1),
	}
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most so many")
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		if err := goodLimit(limit); err != nil {
			return err
		}
		list, err := a.History(ctx, args[0], limit)
		if err != nil {
			return advisedOn(err, args[0], "")
		}
		a.noteMore(list.More, limit, "events")
		return a.show(map[string]any{"history": orEmpty(list.Items)}, func(w io.Writer) error {
			return historyTable(list.Items).writeTo(w)
		})
	})
	return c
}

func historyTable(events []client.Event) grid {
	g := newGrid("AT", "SEVERITY", "TYPE", "CONDUCTOR", "USER", "EVENT")
	for _, e := range events {
		g.add(moment(e.CreatedAt), e.Severity, e.EventType, e.Conductor, e.User, e.Event)
	}
	return g
}
