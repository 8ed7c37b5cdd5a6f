package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// maxWhyNodes is how many nodes one question may name, as in the API.
const maxWhyNodes = 500

func newNodeWhy(s *session) *cobra.Command {
	w, long := why{}, false
	c := &cobra.Command{
		Use: "why NODE...", Short: "Say what nodes do, what they wait for, and what you can do",
		Long: `Say what nodes do, what they wait for, and what you can do. Of one node it prints three lines: what happens and why, until when or
what comes next, and the command that helps most; --long says all that is known, with every command. Of several nodes, or of those that the filters select, it says how many need a person, and why, grouped by cause, the worst first.`,
		Example: "  temper node why n1\n  temper node why n1 n2 n3\n  temper node why --group rack-1 --state \"deploy failed\"", ValidArgsFunction: s.completeNodes("", 0),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && !w.filters():
				return errors.New("name at least one node or filter; \"temper why\" tells of all nodes that need a person")
			case len(args) > maxWhyNodes:
				return fmt.Errorf("at most %d nodes can be named: use a filter", maxWhyNodes)
			}
			return nil
		},
	}
	w.addFlags(c)
	c.Flags().BoolVar(&long, "long", false, "say all that is known, and every command that helps")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		if names := unique(args); len(names) != 1 || w.filters() {
			return w.show(ctx, s, names)
		}
		one, err := s.Why(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(one, func(out io.Writer) error {
			words := strings.Join(one.Brief, "\n") + "\n"
			if long {
				words = whyInLines(one)
			}
			_, err := io.WriteString(out, words)
			return err
		})
	})
	return c
}

// whyInLines is the paragraph of an explanation with what to do on lines of its own, and each command on one that can be copied.
func whyInLines(one *client.Why) string {
	const advice = "What to do"
	can := ""
	words, listed := strings.CutSuffix(one.Text, " You can: "+strings.Join(one.Commands, "; ")+".")
	if listed {
		can = "You can:\n  " + strings.Join(one.Commands, "\n  ") + "\n"
	}
	return strings.ReplaceAll(words, ". "+advice, ".\n"+advice) + "\n" + can
}

func newWhyCommand() *cobra.Command {
	s, w := newSession(), why{}
	c := &cobra.Command{
		Use: "why", Short: "Say which nodes need a person, grouped by cause, the worst first", Args: cobra.NoArgs,
		Long: `Say which nodes need a person, grouped by cause, the worst first: those that wait for a decision, have failed, take longer than
they should, owe an undo that the hardware refused, were put into maintenance by a failure, could not be switched on or off, or are in
quarantine. Nodes that somebody has put into maintenance are left out. Without filters it names webhooks whose deliveries fail, too.`,
		Example: "  temper why\n  temper why --cause bmc_wrong_password --nodes\n  temper why --reason held -o json",
	}
	s.addFlags(c, c.Flags())
	w.addFlags(c)
	c.RunE = s.run(func(ctx context.Context, _ []string) error { return w.show(ctx, s, nil) })
	return c
}

// why is which nodes that need a person are shown, and how.
type why struct {
	reason, cause, driver, class, state string
	group                               func() *string
	nodes                               bool
	limit                               int
}

func (w *why) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.reason, "reason", "", "only nodes that need a person for this `reason`: held, failed, late, owed, fault, power, unhealthy, quarantined")
	f.StringVar(&w.cause, "cause", "", "only nodes with this `cause`")
	f.StringVar(&w.driver, "driver", "", "only nodes with this `driver`")
	f.StringVar(&w.class, "resource-class", "", "only nodes of this resource `class`")
	f.StringVar(&w.state, "state", "", "only nodes in this provision `state`")
	w.group = groupFlag(c)
	f.BoolVar(&w.nodes, "nodes", false, "list the nodes instead of counting them")
	f.IntVar(&w.limit, "limit", client.DefaultLimit, "show at most this many")
	must(c.RegisterFlagCompletionFunc("state", completeStates))
}

// filters reports whether a flag narrows the nodes.
func (w *why) filters() bool {
	return w.reason != "" || w.cause != "" || w.driver != "" || w.class != "" || w.state != "" || w.group() != nil
}

func (w *why) query(names []string) url.Values {
	q := nonEmpty(map[string]string{
		"reason": w.reason, "cause": w.cause, "driver": w.driver, "resource_class": w.class, "provision_state": w.state,
	})
	if len(names) > 0 {
		q["node"] = names
	}
	if g := w.group(); g != nil {
		q.Set("conductor_group", *g)
	}
	return q
}

// show shows what needs a person: of these nodes, or of all if there are none. It asks for the parts of Temper at the same time, because
// nodes do not say that nothing goes on.
func (w *why) show(ctx context.Context, s *session, names []string) error {
	if err := checkLimit(w.limit); err != nil {
		return err
	}
	asked := s.parts(ctx)
	if w.nodes {
		list, err := s.Attention(ctx, w.query(names), w.limit)
		if err != nil {
			return err
		}
		s.reportMore(list.More, w.limit, "nodes")
		st := <-asked
		return s.show(map[string]any{"nodes": orEmpty(list.Items), "broken": brokenParts(st)}, func(out io.Writer) error {
			writeBroken(out, st)
			return printAttention(out, list.Items)
		})
	}
	list, err := s.AttentionGroups(ctx, w.query(names), w.limit)
	if err != nil {
		return err
	}
	s.reportMore(list.More, w.limit, "groups")
	st := <-asked
	return s.show(map[string]any{"groups": orEmpty(list.Items), "broken": brokenParts(st)}, func(out io.Writer) error {
		writeBroken(out, st)
		if err := printGroups(out, list.Items, len(names)); err != nil || len(names) > 0 || w.filters() {
			return err
		}
		writeWebhooks(out, st.Webhooks)
		return nil
	})
}

// parts asks which parts of Temper are broken, beside what else a command asks. If there is no answer, none is known to be.
func (s *session) parts(ctx context.Context) <-chan *client.Status {
	asked := make(chan *client.Status, 1)
	go func() {
		st, err := s.Status(ctx)
		if err != nil {
			st = client.NewStatus()
		}
		asked <- st
	}()
	return asked
}

// brokenParts are the parts that are known to be broken.
func brokenParts(st *client.Status) []client.Part {
	out := []client.Part{}
	for _, p := range st.Parts {
		if p.Broken() {
			out = append(out, p)
		}
	}
	return out
}

// writeBroken writes which parts are broken without which nothing goes on with any node.
func writeBroken(out io.Writer, st *client.Status) {
	for _, p := range st.Parts {
		if p.Broken() && slices.Contains(client.PartsOfProgress, p.Name) {
			fmt.Fprintln(out, table.OneLine(fmt.Sprintf("%s: %s", troubleOf(p), p.Works)))
		}
	}
}

// printAttention prints two lines for each node: a sentence, and cause and time.
func printAttention(out io.Writer, nodes []client.Attention) error {
	if len(nodes) == 0 {
		_, err := fmt.Fprintln(out, "no node needs a person")
		return err
	}
	text := &strings.Builder{}
	for _, n := range nodes {
		name := n.NodeName
		if name == "" {
			name = n.NodeUUID
		}
		fmt.Fprintln(text, table.OneLine(name+": "+n.Sentence))
		fmt.Fprintf(text, "  %s%s%s\n", n.Reason, table.Optional(", ", n.Cause), table.Optional(", since ", table.Time(n.Since)))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// printGroups prints a sentence for each group, with the names of some of its nodes and how all of them are listed. asked is how
// many nodes were asked about; 0 = all.
func printGroups(out io.Writer, groups []client.AttentionGroup, asked int) error {
	text, needing := &strings.Builder{}, 0
	for _, g := range groups {
		needing += g.Nodes
		fmt.Fprintln(text, table.OneLine(g.Sentence))
		names := strings.Join(g.Names, ", ")
		if more := g.Nodes - len(g.Names); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		since := ""
		if g.Since != nil {
			since = "the first since " + table.Time(g.Since) + "; "
		}
		fmt.Fprintln(text, "  "+table.OneLine(since+names))
		if g.Advice != "" {
			fmt.Fprintln(text, "  what to do: "+table.OneLine(g.Advice))
		}
		for _, h := range g.Help {
			fmt.Fprintf(text, "  you can: %s  # %s\n", table.OneLine(h.Command), table.OneLine(h.Effect))
		}
	}
	switch fine := asked - needing; {
	case asked == 0 && needing == 0:
		fmt.Fprintln(text, "no node needs a person")
	case asked > 0 && fine > 0:
		fmt.Fprintf(text, "%s: nobody is needed\n", table.Count(fine, "node"))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
