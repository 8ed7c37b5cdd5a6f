package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newNodeMaintenance(a *asker) *cobra.Command {
	c := holder("maintenance", "Put nodes into maintenance and take them out",
		"  temper node maintenance set n1 --reason \"bad DIMM\"\n  temper node maintenance unset n1")
	var reason string
	set := maintenanceCommand(a, "set NODE...", "Put nodes into maintenance, also while something runs on them",
		"  temper node maintenance set n1 --reason \"bad DIMM\"", "in maintenance",
		func(ctx context.Context, name string) error { return a.SetMaintenance(ctx, name, reason) })
	set.Flags().StringVar(&reason, "reason", "", "`why`")
	unset := maintenanceCommand(a, "unset NODE...", "Take nodes out of maintenance",
		"  temper node maintenance unset n1", "out of maintenance",
		func(ctx context.Context, name string) error { return a.UnsetMaintenance(ctx, name) })
	c.AddCommand(set, unset)
	return c
}

func maintenanceCommand(a *asker, use, short, example, after string, do func(context.Context, string) error) *cobra.Command {
	var s chosen
	c := &cobra.Command{Use: use, Short: short, Example: example}
	s.addFlags(c, a, "")
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		names, err := s.nodes(ctx, a, args, c.Short+":")
		if err != nil {
			return err
		}
		return a.report(names, each(ctx, names, s.parallel, "", func(ctx context.Context, name string) (string, error) {
			return after, do(ctx, name)
		}))
	})
	return c
}
