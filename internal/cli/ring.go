package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/text"
)

func newRingCommand() *cobra.Command {
	return newGroup("ring", "Show which conductors serve which nodes", "  temper ring show\n  temper ring what-if --without conductor-1",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{newRingShow(s), newRingNodes(s), newRingWhatIf(s), newRingReconcile(s)}
		})
}

func newRingShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show which conductors cover which nodes, and how many nodes none covers", Args: cobra.NoArgs,
		Example: "  temper ring show",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			rows, err := s.Coverage(ctx)
			if err != nil {
				return err
			}
			return s.show(map[string]any{"coverage": orEmpty(rows)}, func(w io.Writer) error {
				g := table.New("GROUP", "DRIVER", "NODES", "QUARANTINED", "CONDUCTORS")
				for _, r := range rows {
					g.Add(r.Group, r.Driver, fmt.Sprint(r.Nodes), fmt.Sprint(r.Quarantined), cmp.Or(strings.Join(r.Conductors, ", "), "none"))
				}
				return g.Print(w)
			})
		}),
	}
}

// groupFlag adds --group. The function that it returns gives nil if the flag is not set; "" is the default group.
func groupFlag(c *cobra.Command) func() *string {
	var group string
	c.Flags().StringVar(&group, "group", "", "only this conductor `group`; \"\" is the default group")
	return func() *string {
		if !c.Flags().Changed("group") {
			return nil
		}
		return &group
	}
}

func newRingNodes(s *session) *cobra.Command {
	var driver string
	var limit int
	c := &cobra.Command{
		Use: "nodes [NODE]", Short: "List nodes with the conductors that own them, or show who owns a node", Args: cobra.MaximumNArgs(1),
		Long: `List nodes with the conductors that own them, or show who owns a node. "none" is a node that no live conductor covers:
temper node why says what it lacks.`,
		Example: "  temper ring nodes --driver redfish\n  temper ring nodes n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	group := groupFlag(c)
	c.Flags().StringVar(&driver, "driver", "", "only nodes with this `driver`")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		if len(args) > 0 && (driver != "" || group() != nil) {
			return exit.Usage(errors.New("name a node, or filter with --group and --driver, not both"))
		}
		list, err := s.owners(ctx, args, group(), driver, limit)
		if err != nil {
			return err
		}
		s.reportMore(list.More, limit, "nodes")
		return s.show(map[string]any{"owners": orEmpty(list.Items)}, func(w io.Writer) error {
			g := table.New("NODE", "UUID", "CONDUCTOR")
			for _, o := range list.Items {
				g.Add(o.NodeName, o.NodeUUID, cmp.Or(o.Conductor, "none"))
			}
			return g.Print(w)
		})
	})
	return c
}

// owners lists nodes with their owners: the one that args name, or those of a group and a driver.
func (s *session) owners(ctx context.Context, args []string, group *string, driver string, limit int) (client.List[client.Owner], error) {
	if len(args) > 0 {
		return s.RingOf(ctx, args[0])
	}
	var one *string
	if driver != "" {
		one = &driver
	}
	return s.Ring(ctx, group, one, limit)
}

func newRingWhatIf(s *session) *cobra.Command {
	var without []string
	c := &cobra.Command{
		Use: "what-if", Short: "Show what would happen without some conductors; changes nothing", Args: cobra.NoArgs,
		Example: "  temper ring what-if --without conductor-1,conductor-2 --group rack-1",
	}
	group := groupFlag(c)
	c.Flags().StringSliceVar(&without, "without", nil, "`conductors` that would be gone, separated by commas")
	must(c.MarkFlagRequired("without"))
	must(c.RegisterFlagCompletionFunc("without", s.completeConductors(0)))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		w, err := s.WhatIf(ctx, without, group())
		if err != nil {
			return err
		}
		return s.show(w, func(out io.Writer) error { return printWhatIf(out, w) })
	})
	return c
}

func printWhatIf(out io.Writer, w *client.WhatIf) error {
	g := table.New("WHAT", "NODES")
	for _, name := range slices.Sorted(maps.Keys(w.Gains)) {
		g.Add("move to "+name, fmt.Sprint(w.Gains[name]))
	}
	g.Add("quarantined", fmt.Sprint(w.Quarantined))
	if err := g.Print(out); err != nil || w.Quarantined == 0 {
		return err
	}
	const most = 10
	var names []string
	for _, n := range w.Quarantines[:min(most, len(w.Quarantines))] {
		names = append(names, strings.TrimSpace(n.NodeName+" "+n.NodeUUID))
	}
	more := ""
	if w.Quarantined > len(names) {
		more = fmt.Sprintf(" and %d more", w.Quarantined-len(names))
	}
	_, err := fmt.Fprintf(out, "\nNobody would cover %s%s.\n", strings.Join(names, ", "), more)
	return err
}

// describeQueued says when the reconciliation that was requested will run.
func describeQueued(q *client.Queued) string {
	last := "none has ever ended"
	if q.Ago != nil {
		last = fmt.Sprintf("the last one ended %s ago", text.Duration(time.Duration(*q.Ago*float64(time.Second)).Round(time.Second)))
	}
	if q.Late {
		return "a reconciliation is queued, but no orchestrator seems to run it: " + last + "; it runs when one is there"
	}
	return "a reconciliation is queued, an orchestrator runs it next; " + last
}

func newRingReconcile(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "reconcile", Short: "Run the reconciliation now, even while its schedule is paused", Args: cobra.NoArgs,
		Example: "  temper ring reconcile",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			q, err := s.Reconcile(ctx)
			if err != nil {
				return err
			}
			return s.show(q, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, describeQueued(q))
				return err
			})
		}),
	}
}
