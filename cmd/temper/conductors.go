package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

// conductorCommands are what can be asked of the API about conductors, below the role of that name.
func conductorCommands() []*cobra.Command {
	a := newAsker()
	all := []*cobra.Command{newConductorList(a), newConductorShow(a)}
	for _, c := range all {
		a.addFlags(c, c.Flags())
	}
	return all
}

func newConductorList(a *asker) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List conductors, over the API", Args: cobra.NoArgs, Example: "  temper conductor list",
	}
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most so many")
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if err := goodLimit(limit); err != nil {
			return err
		}
		list, err := a.Conductors(ctx, limit)
		if err != nil {
			return err
		}
		a.noteMore(list.More, limit, "conductors")
		return a.show(map[string]any{"conductors": orEmpty(list.Items)}, func(w io.Writer) error {
			return conductorTable(list.Items).writeTo(w)
		})
	})
	return c
}

func conductorTable(conductors []client.Conductor) grid {
	g := newGrid("NAME", "ALIVE", "GROUP", "DRIVERS", "STARTED", "LAST HEARTBEAT")
	for _, k := range conductors {
		g.add(k.Hostname, yesNo(k.Alive), k.Group, strings.Join(k.Drivers, ", "), moment(k.CreatedAt), moment(k.UpdatedAt))
	}
	return g
}

func newConductorShow(a *asker) *cobra.Command {
	return &cobra.Command{
		Use: "show CONDUCTOR", Short: "Show a conductor, over the API", Args: cobra.ExactArgs(1),
		Example: "  temper conductor show conductor-1", ValidArgsFunction: a.completeConductors(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			k, err := a.Conductor(ctx, args[0])
			if err != nil {
				return err
			}
			return a.show(k, func(w io.Writer) error {
				return fieldsTable(k.Fields(), []string{"hostname", "alive", "conductor_group", "drivers"}, notShown, false).writeTo(w)
			})
		}),
	}
}
