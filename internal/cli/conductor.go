package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// ConductorCommands returns the commands about conductors, which are subcommands of the role of that name.
func ConductorCommands() []*cobra.Command {
	s := newSession()
	all := []*cobra.Command{newConductorList(s), newConductorShow(s), newConductorDrain(s), newConductorForget(s)}
	for _, c := range all {
		s.addFlags(c, c.Flags())
	}
	return all
}

func newConductorList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List conductors, over the API", Args: cobra.NoArgs, Example: "  temper conductor list",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			list, err := s.Fleet(ctx)
			if err != nil {
				return err
			}
			return s.show(map[string]any{"conductors": orEmpty(list)}, func(w io.Writer) error {
				return fleetTable(list).Print(w)
			})
		}),
	}
}

func fleetTable(conductors []client.FleetConductor) table.Table {
	g := table.New("NAME", "STATE", "GROUP", "DRIVERS", "NODES", "STARTED", "LAST HEARTBEAT")
	for _, k := range conductors {
		g.Add(k.Hostname, k.State, k.Group, strings.Join(k.Drivers, ", "), fmt.Sprint(k.Nodes), table.Time(k.StartedAt), table.Time(k.HeartbeatAt))
	}
	return g
}

func newConductorDrain(s *session) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "drain CONDUCTOR", Short: "Have a conductor take no new steps and hand over those it has", Args: cobra.ExactArgs(1),
		Long: `Have a conductor take no new steps and hand over those it has, until it is started again. From now on it covers no
node; it learns this with its next heartbeat. The last conductor that covers some nodes is drained with --force only, because
these nodes are left without one.`,
		Example: "  temper conductor drain conductor-1", ValidArgsFunction: s.completeConductors(1),
	}
	c.Flags().BoolVar(&force, "force", false, "drain it even if it is the last one that covers some nodes")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		k, err := s.DrainConductor(ctx, args[0], force)
		if err != nil {
			return err
		}
		return s.show(k, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s is draining: it takes no new steps until it is restarted\n", k.Hostname)
			return err
		})
	})
	return c
}

func newConductorForget(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "forget CONDUCTOR", Short: "Remove a conductor that is gone from the list", Args: cobra.ExactArgs(1),
		Long: `Remove a conductor that is gone from the list. Nothing is lost with it, because nodes are held by operations and not by
conductors. The API refuses to remove one that is alive.`,
		Example: "  temper conductor forget conductor-1", ValidArgsFunction: s.completeConductors(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			if err := s.ForgetConductor(ctx, args[0]); err != nil {
				return err
			}
			return s.show(map[string]any{"forgotten": args[0]}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s is forgotten\n", args[0])
				return err
			})
		}),
	}
}

func newConductorShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show CONDUCTOR", Short: "Show a conductor, over the API", Args: cobra.ExactArgs(1),
		Example: "  temper conductor show conductor-1", ValidArgsFunction: s.completeConductors(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			k, err := s.Conductor(ctx, args[0])
			if err != nil {
				return err
			}
			fields, err := s.conductorFields(ctx, k)
			if err != nil {
				return err
			}
			return s.show(fields, func(w io.Writer) error {
				return table.Fields(fields, []string{"hostname", "alive", "state", "conductor_group", "drivers"}, hiddenFields, false).Print(w)
			})
		}),
	}
}

// conductorFields returns the fields of Ironic's API and the conductor's state, because a conductor that drains is alive, too.
func (s *session) conductorFields(ctx context.Context, k *client.Conductor) (map[string]any, error) {
	list, err := s.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	fields := k.Fields()
	if at := slices.IndexFunc(list, func(c client.FleetConductor) bool { return c.Hostname == k.Hostname }); at >= 0 {
		fields["state"] = list[at].State
	}
	return fields, nil
}
