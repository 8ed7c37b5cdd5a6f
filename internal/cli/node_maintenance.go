package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newNodeMaintenance(s *session) *cobra.Command {
	c := newParent("maintenance", "Put nodes into maintenance and take them out",
		"  temper node maintenance set n1 --reason \"bad DIMM\"\n  temper node maintenance unset n1")
	var reason string
	set := maintenanceCommand(s, true, "set NODE...", "Put nodes into maintenance, even while an operation runs on them",
		"  temper node maintenance set n1 --reason \"bad DIMM\"",
		func(ctx context.Context, name string) error { return s.SetMaintenance(ctx, name, reason) })
	set.Flags().StringVar(&reason, "reason", "", "`why`")
	unset := maintenanceCommand(s, false, "unset NODE...", "Take nodes out of maintenance",
		"  temper node maintenance unset n1",
		func(ctx context.Context, name string) error { return s.UnsetMaintenance(ctx, name) })
	c.AddCommand(set, unset)
	return c
}

func maintenanceCommand(s *session, on bool, use, short, example string, do func(context.Context, string) error) *cobra.Command {
	var sel selection
	what, after := "take out of maintenance", "out of maintenance"
	if on {
		what, after = "put into maintenance", "in maintenance"
	}
	c := &cobra.Command{Use: use, Short: short, Example: example}
	sel.addFlags(c, s, "")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		names, err := sel.nodes(ctx, s, args, what)
		if err != nil {
			return err
		}
		return s.report(names, forEach(ctx, names, sel.parallel, "", func(ctx context.Context, name string) (string, error) {
			return after, do(ctx, name)
		}))
	})
	return c
}
