package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
)

func newNodeTrait(s *session) *cobra.Command {
	c := newParent("trait", "Show and change the traits of a node", "  temper node trait add n1 CUSTOM_GPU")
	c.AddCommand(
		&cobra.Command{
			Use: "list NODE", Short: "List the traits of a node", Args: cobra.ExactArgs(1),
			Example: "  temper node trait list n1", ValidArgsFunction: s.completeNodes("", 1),
			RunE: s.run(s.listTraits),
		},
		&cobra.Command{
			Use: "set NODE TRAIT...", Short: "Replace all traits of a node", Args: cobra.MinimumNArgs(2),
			Example: "  temper node trait set n1 CUSTOM_GPU HW_CPU_X86_VMX", ValidArgsFunction: s.completeNodes("", 1),
			RunE: s.run(func(ctx context.Context, args []string) error {
				return s.reportTraits(args[0], "has", args[1:], s.SetTraits(ctx, args[0], args[1:]))
			}),
		},
		&cobra.Command{
			Use: "add NODE TRAIT...", Short: "Add traits to a node", Args: cobra.MinimumNArgs(2),
			Example: "  temper node trait add n1 CUSTOM_GPU", ValidArgsFunction: s.completeNodes("", 1),
			RunE: s.run(func(ctx context.Context, args []string) error {
				return s.reportTraits(args[0], "now has", args[1:], eachTrait(args[1:], func(t string) error { return s.AddTrait(ctx, args[0], t) }))
			}),
		},
		newTraitRemove(s),
	)
	return c
}

func newTraitRemove(s *session) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "remove NODE [TRAIT...]", Short: "Remove traits from a node", Args: cobra.MinimumNArgs(1),
		Example: "  temper node trait remove n1 CUSTOM_GPU\n  temper node trait remove n1 --all",
	}
	c.Flags().BoolVar(&all, "all", false, "remove all of them")
	c.ValidArgsFunction = s.completeTraits
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		traits := args[1:]
		switch {
		case all && len(traits) > 0, !all && len(traits) == 0:
			return errors.New("name traits or say --all")
		case all:
			return s.reportTraits(args[0], "has", nil, s.SetTraits(ctx, args[0], []string{}))
		}
		return s.reportTraits(args[0], "no longer has", traits, eachTrait(traits, func(t string) error { return s.RemoveTrait(ctx, args[0], t) }))
	})
	return c
}

func (s *session) listTraits(ctx context.Context, args []string) error {
	traits, err := s.Traits(ctx, args[0])
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

// reportTraits says what was done to a node's traits, or why it failed.
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

// completeTraits offers nodes for the first argument, and the node's traits for the others.
func (s *session) completeTraits(c *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return s.completeNodes("", 1)(c, args, to)
	}
	return s.completing(0, func(ctx context.Context, _ *cobra.Command, args []string) ([]string, error) {
		return s.Traits(ctx, args[0])
	})(c, args, to)
}
