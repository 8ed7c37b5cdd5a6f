package main

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
	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/node"
)

// Bounds of commands for many nodes.
const (
	mostChosen      = 10_000
	defaultParallel = 8
	mostParallel    = 64
)

// chosen is which nodes a command is for, and how many at a time.
type chosen struct {
	inState  string
	yes      bool
	parallel int
}

// addFlags adds the flags that choose nodes to a command whose arguments are nodes. event completes the nodes that it is
// possible for; "" = all.
func (s *chosen) addFlags(c *cobra.Command, a *asker, event node.Event) {
	f := c.Flags()
	f.StringVar(&s.inState, "all-in-state", "", "all nodes in this provision `state` instead of named ones")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask before all of them")
	f.IntVar(&s.parallel, "parallel", defaultParallel, "how `many` nodes at a time")
	must(c.RegisterFlagCompletionFunc("all-in-state", completeStates))
	c.Args = s.args
	c.ValidArgsFunction = a.completeNodes(event, 0)
}

func (s *chosen) args(_ *cobra.Command, args []string) error {
	switch {
	case s.inState == "" && len(args) == 0:
		return errors.New("name at least one node, or say --all-in-state STATE")
	case s.inState != "" && len(args) > 0:
		return errors.New("name nodes or say --all-in-state, not both")
	case s.inState != "" && !slices.Contains(node.States(), node.State(s.inState)):
		return fmt.Errorf("there is no provision state %q", s.inState)
	case s.parallel < 1 || s.parallel > mostParallel:
		return fmt.Errorf("--parallel must be from 1 to %d", mostParallel)
	}
	return nil
}

// nodes are those that were chosen; what is to be done with them is asked for first where nobody named them.
func (s *chosen) nodes(ctx context.Context, a *asker, args []string, what string) ([]string, error) {
	if s.inState == "" {
		return unique(args), nil
	}
	list, err := a.Nodes(ctx, url.Values{"provision_state": {s.inState}, "fields": {"uuid,name"}}, mostChosen)
	switch {
	case err != nil:
		return nil, err
	case list.More:
		return nil, fmt.Errorf("more than %d nodes are in state %s: name some of them", mostChosen, s.inState)
	case len(list.Items) == 0:
		fmt.Fprintf(a.err, "temper: no node is in state %s\n", s.inState)
		return nil, nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Label()
	}
	if s.yes {
		return names, nil
	}
	return names, a.confirm(fmt.Sprintf("%s %s", what, counted(names)))
}

// counted names a few of many nodes.
func counted(names []string) string {
	const few = 5
	if len(names) == 1 {
		return names[0]
	}
	if len(names) <= few {
		return fmt.Sprintf("%d nodes (%s)", len(names), strings.Join(names, ", "))
	}
	return fmt.Sprintf("%d nodes (%s, ...)", len(names), strings.Join(names[:few], ", "))
}

// confirm asks, and is an error unless the answer is yes.
func (a *asker) confirm(what string) error {
	fmt.Fprintf(a.err, "%s? [y/N] ", oneLine(what))
	answer, err := bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	case "":
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(a.err)
			return errors.New("nobody answered, and nothing was done: say --yes to go ahead")
		}
	}
	return errors.New("nothing was done")
}

// given is a query of those that have a value.
func given(q map[string]string) url.Values {
	out := url.Values{}
	for name, v := range q {
		if v != "" {
			out.Set(name, v)
		}
	}
	return out
}

// deleteEach deletes what the arguments name.
func (a *asker) deleteEach(ctx context.Context, args []string, del func(ctx context.Context, name string) error) error {
	names := unique(args)
	return a.report(names, each(ctx, names, defaultParallel, "", func(ctx context.Context, name string) (string, error) {
		return "deleted", del(ctx, name)
	}))
}

func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// done is what came of one of many.
type done[T any] struct {
	name  string
	value T
	err   error
}

// each does the same with all names, a few at a time; one that fails does not stop the others. The answer is in their order.
func each[T any](ctx context.Context, names []string, parallel int, e node.Event, do func(ctx context.Context, name string) (T, error)) []done[T] {
	all := make([]done[T], len(names))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, name := range names {
		g.Go(func() error {
			all[i].name = name
			if all[i].err = ctx.Err(); all[i].err != nil {
				return nil
			}
			v, err := do(ctx, name)
			all[i].value, all[i].err = v, advisedOn(err, e)
			return nil
		})
	}
	_ = g.Wait() // the errors are in all
	return all
}

// values are what the ones that did not fail gave.
func values[T any](all []done[T]) []T {
	var out []T
	for _, d := range all {
		if d.err == nil {
			out = append(out, d.value)
		}
	}
	return out
}

// failures are those of many that failed.
type failures struct {
	of   int
	list []done[struct{}]
}

// failed gathers the failures; nil where there are none.
func failed[T any](all []done[T]) error {
	f := &failures{of: len(all)}
	for _, d := range all {
		if d.err != nil {
			f.list = append(f.list, done[struct{}]{name: d.name, err: d.err})
		}
	}
	if len(f.list) == 0 {
		return nil
	}
	return &advisedError{err: f}
}

// Error is a sentence for one, and for many a line each; those with the same trouble share it.
func (f *failures) Error() string {
	if f.of == 1 {
		return f.list[0].name + ": " + f.list[0].err.Error()
	}
	var troubles []string
	names := map[string][]string{}
	for _, d := range f.list {
		trouble := d.err.Error()
		if names[trouble] == nil {
			troubles = append(troubles, trouble)
		}
		names[trouble] = append(names[trouble], d.name)
	}
	lines := []string{fmt.Sprintf("%d of %d failed:", len(f.list), f.of)}
	for _, t := range troubles {
		lines = append(lines, "  "+strings.Join(names[t], ", ")+": "+t)
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the causes.
func (f *failures) Unwrap() []error {
	var out []error
	for _, d := range f.list {
		out = append(out, d.err)
	}
	return out
}
