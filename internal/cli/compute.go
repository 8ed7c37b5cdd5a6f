package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/text"
)

// ComputeCommands returns the commands about compute services, which are subcommands of the role of that name.
func ComputeCommands() []*cobra.Command {
	s := newSession()
	all := []*cobra.Command{newComputeList(s), newComputeMove(s), newComputeForget(s), newComputeWhatIf(s)}
	for _, c := range all {
		s.addFlags(c, c.Flags())
	}
	return all
}

func newComputeList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List compute services and problems with them, over the API", Args: cobra.NoArgs,
		Example: "  temper compute list",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			epoch, services, reports, err := s.ComputeServices(ctx)
			if err != nil {
				return err
			}
			doc := map[string]any{"epoch": epoch, "compute_services": orEmpty(services), "reports": orEmpty(reports)}
			return s.show(doc, func(w io.Writer) error {
				if err := computeTable(services).Print(w); err != nil {
					return err
				}
				return printReports(w, reports)
			})
		}),
	}
}

func computeTable(services []client.ComputeService) table.Table {
	g := table.New("HOST", "LIVE", "PARTITION KEY", "PEER LIST", "MEMBER", "NODES", "INSTANCES", "EPOCH", "LAST HEARTBEAT")
	for _, v := range services {
		peers := ""
		if v.PeerList != nil {
			peers = *v.PeerList
		}
		g.Add(v.Host, table.YesNo(v.Live), keyCell(v.PartitionKey), peers, table.YesNo(v.Member),
			strconv.Itoa(v.Nodes), strconv.Itoa(v.Instances), strconv.FormatInt(v.AcknowledgedEpoch, 10), table.Time(v.SeenAt))
	}
	return g
}

// keyCell shows an empty key as "" and a missing one as an empty cell.
func keyCell(key *string) string {
	switch {
	case key == nil:
		return ""
	case *key == "":
		return `""`
	}
	return *key
}

func printReports(w io.Writer, reports []client.ComputeReport) error {
	for _, r := range reports {
		line := table.OneLine(r.Text)
		if r.Host != "" {
			line = table.OneLine(r.Host) + ": " + line
		}
		if r.Nodes > 0 {
			line += fmt.Sprintf(" (%s: %s)", table.Count(r.Nodes, "node"), text.TruncateRunes(strings.Join(r.Some, ", "), 120))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func newComputeMove(s *session) *cobra.Command {
	var node string
	c := &cobra.Command{
		Use: "move FROM TO", Short: "Give the instances of a dead compute service to another, over the API", Args: cobra.ExactArgs(2),
		Long: `Give the instances of a dead compute service, with their nodes, to another. If FROM is "-", it gives the instances
that have no compute service.

The API refuses this while FROM is live.`,
		Example: "  temper compute move compute-1 compute-2\n  temper compute move - compute-2 --node n1",
	}
	c.Flags().StringVar(&node, "node", "", "only the instance on this `node`")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		from := args[0]
		if from == "-" {
			from = ""
		}
		moved, err := s.MoveCompute(ctx, from, args[1], node)
		if err != nil {
			return err
		}
		return s.show(map[string]any{"moved": moved}, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s now managed by %s\n", table.Count(moved, "instance")+map[bool]string{true: " is", false: " are"}[moved == 1], args[1])
			return err
		})
	})
	return c
}

func newComputeForget(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "forget HOST", Short: "Remove a dead compute service from the list, over the API", Args: cobra.ExactArgs(1),
		Long: `Remove a dead compute service from the list. If no other service has its partition key, its conductor group is no partition
of its own any more.

Its instances keep its name until it comes back or they are moved.`,
		Example: "  temper compute forget compute-1",
		RunE: s.run(func(ctx context.Context, args []string) error {
			if err := s.ForgetCompute(ctx, args[0]); err != nil {
				return err
			}
			return s.show(map[string]any{"forgotten": args[0]}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s is forgotten\n", args[0])
				return err
			})
		}),
	}
}

func newComputeWhatIf(s *session) *cobra.Command {
	var service, key, peers string
	var gone bool
	c := &cobra.Command{
		Use: "what-if --service S", Short: "Show what would move if a compute service had these settings, over the API", Args: cobra.NoArgs,
		Example: "  temper compute what-if --service compute-3\n  temper compute what-if --service compute-1 --partition-key rack-1 --peer-list compute-1,compute-2\n" +
			"  temper compute what-if --service compute-1 --gone",
	}
	c.Flags().StringVar(&service, "service", "", "`name` of the compute service, registered or not")
	c.Flags().StringVar(&key, "partition-key", "", "its partition `key`; \"\" is the default group; without the flag it has no key")
	c.Flags().StringVar(&peers, "peer-list", "", "its peer `list`")
	c.Flags().BoolVar(&gone, "gone", false, "as if it had stopped")
	must(c.MarkFlagRequired("service"))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		var given *string
		if c.Flags().Changed("partition-key") {
			given = &key
		}
		w, err := s.WhatIfCompute(ctx, service, given, peers, gone)
		if err != nil {
			return err
		}
		return s.show(w, func(out io.Writer) error { return printComputeWhatIf(out, w) })
	})
	return c
}

func printComputeWhatIf(out io.Writer, w *client.ComputeWhatIf) error {
	members := table.New("PARTITION", "MEMBERS NOW", "MEMBERS THEN")
	for _, m := range w.Members {
		name := "the rest"
		if m.PartitionKey != nil {
			name = keyCell(m.PartitionKey)
		}
		members.Add(name, strings.Join(m.Before, ", "), strings.Join(m.After, ", "))
	}
	if err := members.Print(out); err != nil {
		return err
	}
	if len(w.Moves) == 0 {
		if _, err := fmt.Fprintln(out, "No node would move."); err != nil {
			return err
		}
		return printReports(out, w.Reports)
	}
	moves := table.New("FROM", "TO", "NODES")
	for _, m := range w.Moves {
		moves.Add(m.From, m.To, strconv.Itoa(m.Nodes))
	}
	if err := moves.Print(out); err != nil {
		return err
	}
	return printReports(out, w.Reports)
}
