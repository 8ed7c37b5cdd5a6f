package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newNodeMaintenance(a *asker) *cobra.Command {
	c := holder("maintenance", "Put nodes into maintenance and take them out",
		"  temper node maintenance set n1 --reason \"bad DIMM\"\n  temper node maintenance unset n1")
	var reason string
	set := maintenanceCommand(a, true, "set NODE...", "Put nodes into maintenance, also while something runs on them",
		"  temper node maintenance set n1 --reason \"bad DIMM\"",
		func(ctx context.Context, name string) error { return a.SetMaintenance(ctx, name, reason) })
	set.Flags().StringVar(&reason, "reason", "", "`why`")
	unset := maintenanceCommand(a, false, "unset NODE...", "Take nodes out of maintenance",
		"  temper node maintenance unset n1",
		func(ctx context.Context, name string) error { return a.UnsetMaintenance(ctx, name) })
	c.AddCommand(set, unset)
	return c
}

func maintenanceCommand(a *asker, on bool, use, short, example string, do func(context.Context, string) error) *cobra.Command {
	var s chosen
	what, after := "take out of maintenance", "out of maintenance"
	if on {
		what, after = "put into maintenance", "in maintenance"
	}
	c := &cobra.Command{Use: use, Short: short, Example: example}
	s.addFlags(c, a, "")
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		names, err := s.nodes(ctx, a, args, what)
		if err != nil {
			return err
		}
		return a.report(names, each(ctx, names, s.parallel, "", func(ctx context.Context, name string) (string, error) {
			return after, do(ctx, name)
		}))
	})
	return c
}
