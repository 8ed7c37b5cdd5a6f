package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

// traited is what sets the commands for the traits of nodes apart from those for the traits of runbooks.
type traited struct {
	in       client.Collection
	use      string // the command above: "node"
	one      string // an example of one
	complete cobra.CompletionFunc
}

func newNodeTrait(s *session) *cobra.Command {
	return traited{client.Nodes, "node", "n1", s.completeNodes("", 1)}.command(s)
}

func (k traited) command(s *session) *cobra.Command {
	c := newParent("trait", "Show and change the traits of a "+k.use, k.example("add", "CUSTOM_GPU"))
	c.AddCommand(
		&cobra.Command{
			Use: k.usage("list", ""), Short: "List the traits of a " + k.use, Args: cobra.ExactArgs(1),
			Example: k.example("list", ""), ValidArgsFunction: k.complete,
			RunE: s.run(func(ctx context.Context, args []string) error { return k.list(ctx, s, args[0]) }),
		},
		&cobra.Command{
			Use: k.usage("set", "TRAIT..."), Short: "Replace all traits of a " + k.use, Args: cobra.MinimumNArgs(2),
			Example: k.example("set", "CUSTOM_GPU HW_CPU_X86_VMX"), ValidArgsFunction: k.complete,
			RunE: s.run(func(ctx context.Context, args []string) error {
				return s.reportTraits(args[0], "has", args[1:], s.SetTraits(ctx, k.in, args[0], args[1:]))
			}),
		},
		&cobra.Command{
			Use: k.usage("add", "TRAIT..."), Short: "Add traits to a " + k.use, Args: cobra.MinimumNArgs(2),
			Example: k.example("add", "CUSTOM_GPU"), ValidArgsFunction: k.complete,
			RunE: s.run(func(ctx context.Context, args []string) error {
				return s.reportTraits(args[0], "now has", args[1:], eachTrait(args[1:], func(t string) error { return s.AddTrait(ctx, k.in, args[0], t) }))
			}),
		},
		k.newRemove(s),
	)
	return c
}

func (k traited) usage(verb, rest string) string {
	return strings.TrimSpace(verb + " " + strings.ToUpper(k.use) + " " + rest)
}

func (k traited) example(verb, rest string) string {
	return strings.TrimRight("  temper "+k.use+" trait "+verb+" "+k.one+" "+rest, " ")
}

func (k traited) newRemove(s *session) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: k.usage("remove", "[TRAIT...]"), Short: "Remove traits from a " + k.use, Args: cobra.MinimumNArgs(1),
		Example: k.example("remove", "CUSTOM_GPU") + "\n" + k.example("remove", "--all"),
	}
	c.Flags().BoolVar(&all, "all", false, "remove all of them")
	c.ValidArgsFunction = k.completeTraits(s)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		traits := args[1:]
		switch {
		case all && len(traits) > 0, !all && len(traits) == 0:
			return errors.New("name traits or say --all")
		case all:
			return s.reportTraits(args[0], "has", nil, s.SetTraits(ctx, k.in, args[0], []string{}))
		}
		return s.reportTraits(args[0], "no longer has", traits, eachTrait(traits, func(t string) error { return s.RemoveTrait(ctx, k.in, args[0], t) }))
	})
	return c
}

func (k traited) list(ctx context.Context, s *session, ident string) error {
	traits, err := s.Traits(ctx, k.in, ident)
	if err != nil {
		return withAdvice(err)
	}
	return s.show(map[string]any{"traits": orEmpty(traits)}, func(w io.Writer) error {
		for _, t := range traits {
			if _, err := fmt.Fprintln(w, table.OneLine(t)); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachTrait calls do for all traits, and joins the errors.
func eachTrait(traits []string, do func(string) error) error {
	var errs []error
	for _, t := range traits {
		if err := do(t); err != nil {
			errs = append(errs, fmt.Errorf("trait %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// reportTraits says what was done to the traits of name, or why it failed.
func (s *session) reportTraits(name, verb string, traits []string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, withAdvice(err))
	}
	words := "no traits"
	if len(traits) > 0 {
		words = strings.Join(traits, ", ")
	}
	return s.report([]string{name}, []result[string]{{name: name, value: verb + " " + words}})
}

// completeTraits offers whose traits there are for the first argument, and these traits for the others.
func (k traited) completeTraits(s *session) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return k.complete(c, args, to)
		}
		return s.completing(0, func(ctx context.Context, _ *cobra.Command, args []string) ([]string, error) {
			return s.Traits(ctx, k.in, args[0])
		})(c, args, to)
	}
}
