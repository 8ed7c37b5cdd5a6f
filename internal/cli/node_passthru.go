package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
)

func newNodePassthru(s *session) *cobra.Command {
	c := newParent("passthru", "Call the methods of nodes' vendor interfaces",
		"  temper node passthru list n1\n  temper node passthru call n1 --method bmc_reset --arg warm=false --wait 1m")
	c.AddCommand(newPassthruList(s), newPassthruCall(s), newPassthruRead(s))
	return c
}

func newPassthruList(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "list NODE", Short: "List the methods of a node's vendor interface", Args: cobra.ExactArgs(1),
		Long: `List the methods of a node's vendor interface. Those with HTTP METHOD GET read something of the BMC: call them with
"temper node passthru read". Others change something: call them with "temper node passthru call".`,
		Example: "  temper node passthru list n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		all, err := s.VendorMethods(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(all, func(w io.Writer) error {
			g := table.New("METHOD", "HTTP METHOD", "DESCRIPTION").Wrap("DESCRIPTION")
			for _, name := range slices.Sorted(maps.Keys(all)) {
				g.Add(name, strings.Join(all[name].HTTPMethods, ", "), all[name].Description)
			}
			return g.Print(w)
		})
	})
	return c
}

// methodFlags are the method and its arguments.
type methodFlags struct {
	method string
	args   keyValues
}

func (f *methodFlags) add(c *cobra.Command) {
	f.args.text = true
	c.Flags().StringVar(&f.method, "method", "", "`name` of the method, as temper node passthru list shows it")
	c.Flags().Var(&f.args, "arg", "argument of the method, a text, or @FILE with an object of arguments; repeat for more")
	must(c.MarkFlagRequired("method"))
}

func newPassthruCall(s *session) *cobra.Command {
	var f methodFlags
	var terms client.Terms
	c := &cobra.Command{
		Use: "call NODE... --method METHOD", Short: "Call a method of nodes' vendor interfaces that changes something",
		Long: `Call a method of nodes' vendor interfaces that changes something. Each call is an operation of one step. Raw commands and restarts
of BMCs are sent at most once: if nobody knows whether one arrived, the operation fails and says so. Arguments with passwords, such
as raw_bytes, belong into a file, because other users of the machine can see the arguments of commands.`,
		Example: `  temper node passthru call n1 --method bmc_reset --arg warm=false --wait 1m
  temper node passthru call n1 --method send_raw --arg raw_bytes="0x06 0x01" --wait 1m
  temper node passthru call n1 --method create_subscription --arg @subscription.yaml --wait 1m -o json`,
	}
	f.add(c)
	addPatience(c, &terms)
	v := verb{name: "passthru call", target: client.VerbPassthru, what: "call the vendor method on", goal: watch.Succeed}
	return v.command(s, c, func() (client.Work, error) {
		return client.Work{Verb: v.target, Method: f.method, Args: f.args.values, Terms: terms}, nil
	})
}

func newPassthruRead(s *session) *cobra.Command {
	var f methodFlags
	c := &cobra.Command{
		Use: "read NODE --method METHOD", Short: "Call a method of a node's vendor interface that reads something of its BMC", Args: cobra.ExactArgs(1),
		Long:    "Call a method of a node's vendor interface that reads something of its BMC. It asks the BMC now, and is no operation.",
		Example: "  temper node passthru read n1 --method get_subscription --arg id=5", ValidArgsFunction: s.completeNodes("", 1),
	}
	f.add(c)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		out, err := s.ReadPassthru(ctx, args[0], f.method, f.args.values)
		if err != nil {
			return withAdvice(err)
		}
		return s.show(out, func(w io.Writer) error { return table.Fields(out, []string{"Id", "Destination"}, nil, true).Print(w) })
	})
	return c
}
