package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newNodeHealth(s *session) *cobra.Command {
	var limit int
	var status string
	c := &cobra.Command{
		Use: "health [NODE]", Short: "Show the health of a node, or of all nodes", Args: cobra.MaximumNArgs(1),
		Long: `Show the health of a node, or of all nodes, as their BMCs told it last. Of one node each part with which something is wrong has a line.
The list leaves out nodes whose health was never read.`,
		Example: "  temper node health n1\n  temper node health --status critical", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.Flags().StringVar(&status, "status", "", "only nodes with this `status`: unknown, ok, warning, critical")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			if status != "" {
				return exit.Usage(errors.New("--status is for the list of all nodes, not for one node"))
			}
			h, err := s.Health(ctx, args[0])
			if err != nil {
				return withAdvice(err)
			}
			return s.show(h, func(w io.Writer) error { return showHealth(w, h) })
		}
		if err := checkLimit(limit); err != nil {
			return err
		}
		list, err := s.HealthList(ctx, status, limit)
		if err != nil {
			return err
		}
		s.reportMore(list.More, limit, "nodes")
		return s.show(map[string]any{"nodes": orEmpty(list.Items)}, func(w io.Writer) error { return healthTable(list.Items).Print(w) })
	})
	return c
}

// showHealth prints the health of one node, and what is wrong.
func showHealth(w io.Writer, h client.Health) error {
	if h.ReadAt == nil {
		_, err := fmt.Fprintf(w, "the health of node %s was never read: conductors read it every health_interval, if the node's driver reads it\n", cmp.Or(h.NodeName, h.NodeUUID))
		return err
	}
	if err := healthTable([]client.Health{h}).Print(w); err != nil || len(h.Reasons) == 0 {
		return err
	}
	g := table.New("SEVERITY", "PART", "NAME", "SINCE", "MESSAGE").Whole("SINCE").Wrap("MESSAGE")
	for _, r := range h.Reasons {
		g.Add(r.Severity, r.Kind, r.Name, table.Time(r.Since), r.Message)
	}
	return g.Print(w)
}

func healthTable(nodes []client.Health) table.Table {
	g := table.New("NODE", "HEALTH", "SINCE", "READ", "WITHHELD", "WORST").Whole("SINCE", "READ").Wrap("WORST")
	for _, h := range nodes {
		withheld, worst := "no", ""
		if h.Withheld {
			withheld = "yes"
		}
		if len(h.Reasons) > 0 {
			r := h.Reasons[0]
			worst = r.Kind + " " + r.Name + ": " + r.Message
		}
		g.Add(cmp.Or(h.NodeName, h.NodeUUID), h.Status, table.Time(h.Since), table.Time(h.ReadAt), withheld, worst)
	}
	return g
}
