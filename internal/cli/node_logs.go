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

// logWords introduce logs of a kind, or say that there are none.
var logWords = map[string]struct{ one, none string }{
	client.AgentLog: {
		"The agent's log of operation %d, whose step %s failed; %s collected it at %s.",
		"No step of this node has failed while its agent answered.",
	},
	client.ConsoleLog: {
		"What the server printed in operation %d while step %s booted it; %s began to record it at %s.",
		"No serial console of this node was recorded. Its console interface must be one that a BMC has, such as ipmitool-socat.",
	},
}

func newNodeLogs(s *session) *cobra.Command {
	var all bool
	var kind string
	c := &cobra.Command{
		Use: "logs NODE", Short: "Show what the agent of a node has logged, or its server has printed", Args: cobra.ExactArgs(1),
		Long: `Show what the agent of a node has logged, or its server has printed.

The agent's log is its own and, of the ironic-python-agent, that of its system. A conductor collects it when a step has failed and the agent
still answers.

With --kind console show what the server has printed on its serial console while it booted the ramdisk, at most the last 64 KiB of each boot.
The node needs the console interface ipmitool-socat. Nothing is recorded while somebody has enabled the console.

The last four of each kind are kept, without the secrets of the node.`,
		Example: "  temper node logs n1\n  temper node logs n1 --kind console --all", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.Flags().StringVar(&kind, "kind", client.AgentLog, "agent or console")
	c.Flags().BoolVar(&all, "all", false, "show all that are kept, the newest first, not only the newest")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		said, known := logWords[kind]
		if !known {
			return fmt.Errorf("--kind %q: it must be agent or console", kind)
		}
		logs, err := s.Logs(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		logs = slices.DeleteFunc(logs, func(l client.Log) bool { return l.Kind != kind })
		if len(logs) > 1 && !all {
			logs = logs[:1]
		}
		return s.show(orEmpty(logs), func(w io.Writer) error {
			if len(logs) == 0 {
				_, err := fmt.Fprintln(w, said.none)
				return err
			}
			for _, l := range logs {
				if _, err := fmt.Fprintf(w, said.one+"\n%s\n",
					l.Operation, l.Step, l.Conductor, table.Time(&l.At), strings.TrimRight(l.Content, "\n")); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return c
}
