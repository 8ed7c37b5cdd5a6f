package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func newOperationList(s *session) *cobra.Command {
	var f client.OperationFilter
	var limit int
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "List operations, the newest first", Args: cobra.NoArgs,
		Long: `List operations, the newest first. If an undo fails again and again with the same cause, such as that of a node whose BMC is
dead, all these tries have one line: that of the newest, with how many there were and since when. --all shows each of them, and so
do JSON and YAML. AGE is the time since the request was accepted.`,
		Example: "  temper operation list --node n1\n  temper operation list --state failed --since 24h",
	}
	c.Flags().StringVar(&f.Node, "node", "", "only operations on this `node`")
	c.Flags().BoolVar(&f.Deleted, "deleted", false, "only operations of deleted nodes")
	c.Flags().StringVar(&f.Kind, "kind", "", "only operations of this `kind`")
	c.Flags().StringVar(&f.State, "state", "", "only operations in this `state`, or that ended as succeeded, failed or cancelled")
	c.Flags().StringVar(&f.Outcome, "outcome", "", "only operations that ended as this `outcome`: succeeded, failed or cancelled")
	c.Flags().StringVar(&f.Conductor, "conductor", "", "only operations that this `conductor` works on, or has worked on last")
	c.Flags().StringVar(&f.Cause, "cause", "", "only operations with this `cause`: a code, such as bmc_wrong_password")
	since := addSince(c, s.now)
	c.Flags().BoolVar(&all, "all", false, "show each of the repeated failures that otherwise share a line")
	c.Flags().IntVar(&limit, "limit", 50, "show at most this many")
	var causes []string
	for _, code := range fault.Causes() {
		causes = append(causes, string(code))
	}
	completeWords(c, "cause", causes...)
	completeWords(c, "outcome", client.Succeeded, client.Failed, client.Cancelled)
	must(c.RegisterFlagCompletionFunc("conductor", s.completeConductors(0)))
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	var kinds []string
	for _, k := range node.Kinds() {
		kinds = append(kinds, string(k))
	}
	completeWords(c, "kind", kinds...)
	var states []string
	for _, o := range node.OperationStates {
		states = append(states, string(o.Name))
	}
	completeWords(c, "state", append(states, client.Succeeded, client.Failed, client.Cancelled)...)
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		f.Since = since.Time
		f.Fold = !all && s.format == asTable
		list, err := s.Operations(ctx, f, limit)
		if err != nil {
			return withAdvice(err)
		}
		s.reportMore(list.More, limit, "operations")
		return s.show(map[string]any{"operations": orEmpty(list.Items)}, func(w io.Writer) error {
			return operationTable(list.Items, s.now(), s.wide).Print(w)
		})
	})
	return c
}

// operationTable shows the state of operations in a word. If wide is set, it has everything that is known of them.
func operationTable(ops []client.Operation, now time.Time, wide bool) table.Table {
	heads := []string{"ID", "NODE", "KIND", "STATE", "STEP", "AGE"}
	folded := slices.ContainsFunc(ops, func(o client.Operation) bool { return o.Repeats > 0 })
	if folded {
		heads = append(heads, "TIMES")
	}
	heads = append(heads, "CAUSE")
	if wide {
		heads = append(heads, "CONDUCTOR", "ACCEPTED", "TOOK", "ERROR")
	}
	g := table.New(heads...).Whole("ID", "KIND", "AGE", "TIMES").Wrap("CAUSE")
	for i := range ops {
		o := &ops[i]
		step := fmt.Sprintf("%d/%d", len(o.Steps), len(o.Steps))
		if s := o.Current(); s != nil {
			step = fmt.Sprintf("%d/%d %s", s.Index+1, len(o.Steps), s.Name())
		}
		cells := []string{o.ID, o.Label(), o.Kind, cmp.Or(o.Outcome, o.State), step, table.Age(o.AcceptedAt, now)}
		if folded {
			cells = append(cells, describeRepeats(o, now))
		}
		cells = append(cells, cmp.Or(o.Cause, o.Error))
		if wide {
			cells[3] = watch.State(o)
			cells = append(cells, o.Conductor, table.Time(o.AcceptedAt), table.Elapsed(o.AcceptedAt, o.EndedAt, now), o.Error)
		}
		g.Add(cells...)
	}
	return g
}

// describeRepeats says how often an operation has failed in a row, and since when: "12 in 3d".
func describeRepeats(o *client.Operation, now time.Time) string {
	if o.Repeats == 0 {
		return "1"
	}
	return fmt.Sprintf("%d in %s", o.Repeats+1, table.Age(o.RepeatsSince, now))
}
