package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/node"
)

// Bounds of commands for many nodes.
const (
	maxSelected     = 10_000
	defaultParallel = 8
	maxParallel     = 64
)

// selection says which nodes a command is for, and how many it works on at a time.
type selection struct {
	inState  string
	yes      bool
	parallel int
	atOnce   bool // the flag is called --at-once, and it works on the next nodes when the ones before are done
}

// addFlags adds the flags that select nodes to a command whose arguments are nodes. Completion offers the nodes for which event
// is possible; "" = all.
func (sel *selection) addFlags(c *cobra.Command, s *session, event node.Event) {
	f := c.Flags()
	f.StringVar(&sel.inState, "all-in-state", "", "all nodes in this provision `state` instead of named ones")
	f.BoolVarP(&sel.yes, "yes", "y", false, "do not ask for confirmation")
	if sel.atOnce {
		f.IntVar(&sel.parallel, "at-once", defaultAtOnce, "`number` of nodes at a time")
	} else {
		f.IntVar(&sel.parallel, "parallel", defaultParallel, "`number` of nodes at a time")
	}
	must(c.RegisterFlagCompletionFunc("all-in-state", completeStates))
	c.Args = sel.args
	c.ValidArgsFunction = s.completeNodes(event, 0)
}

func (sel *selection) args(_ *cobra.Command, args []string) error {
	switch {
	case sel.inState == "" && len(args) == 0:
		return errors.New("name at least one node, or say --all-in-state STATE")
	case sel.inState != "" && len(args) > 0:
		return errors.New("name nodes or say --all-in-state, not both")
	case sel.inState != "" && !slices.Contains(node.States(), node.State(sel.inState)):
		return fmt.Errorf("there is no provision state %q", sel.inState)
	case sel.atOnce && (sel.parallel < 1 || sel.parallel > maxParallel):
		return fmt.Errorf("--at-once must be from 1 to %d", maxParallel)
	case sel.parallel < 1 || sel.parallel > maxParallel:
		return fmt.Errorf("--parallel must be from 1 to %d", maxParallel)
	}
	return nil
}

// nodes returns the selected nodes. If they were selected by their state, the user has to confirm what is done to them.
func (sel *selection) nodes(ctx context.Context, s *session, args []string, what string) ([]string, error) {
	if sel.inState == "" {
		return unique(args), nil
	}
	list, err := s.Nodes(ctx, url.Values{"provision_state": {sel.inState}, "fields": {"uuid,name"}}, maxSelected)
	switch {
	case err != nil:
		return nil, err
	case list.More:
		return nil, fmt.Errorf("more than %d nodes are in state %s: name some of them", maxSelected, sel.inState)
	case len(list.Items) == 0:
		fmt.Fprintf(s.err, "temper: no node is in state %s\n", sel.inState)
		return nil, nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Label()
	}
	if sel.yes {
		return names, nil
	}
	return names, s.confirm(fmt.Sprintf("%s %s", what, nameSome(names)))
}

// nameSome names at most five of the nodes.
func nameSome(names []string) string {
	const few = 5
	if len(names) == 1 {
		return names[0]
	}
	if len(names) <= few {
		return fmt.Sprintf("%d nodes (%s)", len(names), strings.Join(names, ", "))
	}
	return fmt.Sprintf("%d nodes (%s, ...)", len(names), strings.Join(names[:few], ", "))
}

// confirm asks the user. It is an error unless the answer is yes.
func (s *session) confirm(what string) error {
	fmt.Fprintf(s.err, "%s? [y/N] ", table.OneLine(what))
	answer, err := bufio.NewReader(io.LimitReader(s.in, 100)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	case "":
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(s.err)
			return errors.New("nobody answered, and nothing was done: say --yes to go ahead")
		}
	}
	return errors.New("nothing was done")
}
