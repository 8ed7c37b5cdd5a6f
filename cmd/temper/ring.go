package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newRingCommand() *cobra.Command {
	return group("ring", "Look at who serves which nodes", "  temper ring show\n  temper ring what-if --without conductor-1",
		func(a *asker) []*cobra.Command {
			return []*cobra.Command{newRingShow(a), newRingNodes(a), newRingWhatIf(a), newRingReconcile(a)}
		})
}

func newRingShow(a *asker) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show which conductors cover which nodes, and how many nobody does", Args: cobra.NoArgs,
		Example: "  temper ring show",
		RunE: a.run(func(ctx context.Context, _ []string) error {
			rows, err := a.Coverage(ctx)
			if err != nil {
				return err
			}
			return a.show(map[string]any{"coverage": orEmpty(rows)}, func(w io.Writer) error {
				g := newGrid("GROUP", "DRIVER", "NODES", "QUARANTINED", "CONDUCTORS")
				for _, r := range rows {
					g.add(r.Group, r.Driver, fmt.Sprint(r.Nodes), fmt.Sprint(r.Quarantined), cmp.Or(strings.Join(r.Conductors, ", "), "none"))
				}
				return g.writeTo(w)
			})
		}),
	}
}

// groupFlag adds --group, which may be given as "" for the default group.
func groupFlag(c *cobra.Command) func() *string {
	var group string
	c.Flags().StringVar(&group, "group", "", "only of this conductor `group`; \"\" is the default group")
	return func() *string {
		if !c.Flags().Changed("group") {
			return nil
		}
		return &group
	}
}

func newRingNodes(a *asker) *cobra.Command {
	var driver string
	var limit int
	c := &cobra.Command{
		Use: "nodes", Short: "List nodes with the conductors that own them", Args: cobra.NoArgs, Example: "  temper ring nodes --driver redfish",
	}
	group := groupFlag(c)
	c.Flags().StringVar(&driver, "driver", "", "only of this `driver`")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most so many")
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if err := goodLimit(limit); err != nil {
			return err
		}
		var one *string
		if driver != "" {
			one = &driver
		}
		list, err := a.Ring(ctx, group(), one, limit)
		if err != nil {
			return err
		}
		a.noteMore(list.More, limit, "nodes")
		return a.show(map[string]any{"owners": orEmpty(list.Items)}, func(w io.Writer) error {
			g := newGrid("NODE", "UUID", "CONDUCTOR")
			for _, o := range list.Items {
				g.add(o.NodeName, o.NodeUUID, cmp.Or(o.Conductor, "none"))
			}
			return g.writeTo(w)
		})
	})
	return c
}

func newRingWhatIf(a *asker) *cobra.Command {
	var without []string
	c := &cobra.Command{
		Use: "what-if", Short: "Tell what would happen without some conductors; changes nothing", Args: cobra.NoArgs,
		Example: "  temper ring what-if --without conductor-1,conductor-2 --group rack-1",
	}
	group := groupFlag(c)
	c.Flags().StringSliceVar(&without, "without", nil, "`conductors` to do without")
	must(c.MarkFlagRequired("without"))
	must(c.RegisterFlagCompletionFunc("without", a.completeConductors(0)))
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		w, err := a.WhatIf(ctx, without, group())
		if err != nil {
			return err
		}
		return a.show(w, func(out io.Writer) error { return tellWhatIf(out, w) })
	})
	return c
}

func tellWhatIf(out io.Writer, w *client.WhatIf) error {
	g := newGrid("WHAT", "NODES")
	for _, name := range slices.Sorted(maps.Keys(w.Gains)) {
		g.add("move to "+name, fmt.Sprint(w.Gains[name]))
	}
	g.add("quarantined", fmt.Sprint(w.Quarantined))
	if err := g.writeTo(out); err != nil || w.Quarantined == 0 {
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

// queued says when a reconciliation that was asked for runs.
func queued(q *client.Queued) string {
	last := "none has ever ended"
	if q.Ago != nil {
		last = fmt.Sprintf("the last one ended %s ago", time.Duration(*q.Ago*float64(time.Second)).Round(time.Second))
	}
	if q.Late {
		return "a reconciliation is queued, but no orchestrator seems to run it: " + last + "; it runs when one is there"
	}
	return "a reconciliation is queued, an orchestrator runs it next; " + last
}

func newRingReconcile(a *asker) *cobra.Command {
	return &cobra.Command{
		Use: "reconcile", Short: "Have an orchestrator run the reconciliation now, also while its schedule is paused", Args: cobra.NoArgs,
		Example: "  temper ring reconcile",
		RunE: a.run(func(ctx context.Context, _ []string) error {
			q, err := a.Reconcile(ctx)
			if err != nil {
				return err
			}
			return a.show(q, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, queued(q))
				return err
			})
		}),
	}
}
