package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
)

func newNodeLogs(s *session) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "logs NODE", Short: "Show what the agent of a node has logged before a step failed", Args: cobra.ExactArgs(1),
		Long: `Show what the agent of a node has logged before a step failed: its own log and, of the ironic-python-agent, that of its system. A conductor
collects it when a step has failed and the agent still answers. The last four are kept, without the secrets of the node.`,
		Example: "  temper node logs n1\n  temper node logs n1 --all", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.Flags().BoolVar(&all, "all", false, "show all that are kept, the newest first, not only the newest")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		logs, err := s.Logs(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		if len(logs) > 1 && !all {
			logs = logs[:1]
		}
		return s.show(orEmpty(logs), func(w io.Writer) error {
			if len(logs) == 0 {
				_, err := fmt.Fprintln(w, "No step of this node has failed while its agent answered.")
				return err
			}
			for _, l := range logs {
				if _, err := fmt.Fprintf(w, "The %s's log of operation %d, whose step %s failed; %s collected it at %s.\n%s\n",
					l.Kind, l.Operation, l.Step, l.Conductor, table.Time(&l.At), strings.TrimRight(l.Content, "\n")); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return c
}
