package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// ConductorCommands returns the commands about conductors, which are subcommands of the role of that name.
func ConductorCommands() []*cobra.Command {
	s := newSession()
	all := []*cobra.Command{newConductorList(s), newConductorShow(s), newConductorDrain(s), newConductorUndrain(s), newConductorForget(s)}
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
				return fleetTable(list, s.wide).Print(w)
			})
		}),
	}
}

func fleetTable(conductors []client.FleetConductor, wide bool) table.Table {
	heads := []string{"NAME", "STATE", "GROUP", "DRIVERS", "NODES", "STEPS", "LAST HEARTBEAT"}
	if wide {
		heads = append(heads, "STARTED")
	}
	g := table.New(heads...).Whole("STATE", "LAST HEARTBEAT")
	for _, k := range conductors {
		cells := []string{k.Hostname, conductorState(&k), k.Group, strings.Join(k.Drivers, ", "), fmt.Sprint(k.Nodes), fmt.Sprint(k.Steps), table.Time(k.HeartbeatAt)}
		if wide {
			cells = append(cells, table.Time(k.StartedAt))
		}
		g.Add(cells...)
	}
	return g
}

// conductorState is the state of a conductor, and whether its heartbeat is overdue.
func conductorState(k *client.FleetConductor) string {
	if k.Late {
		return k.State + ", late"
	}
	return k.State
}

func newConductorDrain(s *session) *cobra.Command {
	var force bool
	var reason string
	c := &cobra.Command{
		Use: "drain CONDUCTOR", Short: "Have a conductor take no new steps and hand over those it has", Args: cobra.ExactArgs(1),
		Long: `Have a conductor take no new steps and hand over those it has, until it is undrained or started again. From now on it covers no
node; it learns this with its next heartbeat. The last conductor that covers some nodes is drained with --force only, because
these nodes are left without one.`,
		Example: "  temper conductor drain conductor-1", ValidArgsFunction: s.completeConductors(1),
	}
	c.Flags().BoolVar(&force, "force", false, "drain it even if it is the last one that covers some nodes")
	c.Flags().StringVar(&reason, "reason", "", "`why`, for the audit; required where people log in")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		k, err := s.DrainConductor(ctx, args[0], force, reason)
		if err != nil {
			return err
		}
		return s.show(k, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s is draining: it takes no new steps until temper conductor undrain or a restart\n", k.Hostname)
			return err
		})
	})
	return c
}

func newConductorUndrain(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "undrain CONDUCTOR", Short: "Let a conductor that was drained take steps again", Args: cobra.ExactArgs(1),
		Long: `Let a conductor that was drained take steps again. It learns this with its next heartbeat. The API refuses it for a
conductor that is not alive or is being stopped: such a one takes steps again when it is started.`,
		Example: "  temper conductor undrain conductor-1", ValidArgsFunction: s.completeConductors(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			k, err := s.UndrainConductor(ctx, args[0])
			if err != nil {
				return err
			}
			return s.show(k, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s takes steps again, from its next heartbeat on\n", k.Hostname)
				return err
			})
		}),
	}
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
			k, err := s.FleetConductor(ctx, args[0])
			if err != nil {
				return err
			}
			return s.show(k, func(w io.Writer) error {
				if err := conductorFields(k).Print(w); err != nil {
					return err
				}
				writeHelp(w, k.Help, "")
				return nil
			})
		}),
	}
}

// conductorFields shows a conductor. An empty group is shown, because it is a group like others.
func conductorFields(k *client.FleetConductor) table.Table {
	g := table.New()
	for _, f := range [][2]string{
		{"hostname", k.Hostname},
		{"state", conductorState(k)},
		{"group", cmp.Or(k.Group, `"" (the default)`)},
		{"drivers", strings.Join(k.Drivers, ", ")},
		{"nodes it owns", fmt.Sprint(k.Nodes)},
		{"steps it runs", fmt.Sprint(k.Steps)},
		{"version", k.Version},
		{"started", table.Time(k.StartedAt)},
		{"last heartbeat", table.Time(k.HeartbeatAt)},
		{"last contact with Temporal", table.Time(k.TemporalAt)},
		{"stopped", table.Time(k.StoppedAt)},
	} {
		if f[1] != "" {
			g.Add(f[0], f[1])
		}
	}
	return g
}
