package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newNodeTrait(a *asker) *cobra.Command {
	c := holder("trait", "Look at the traits of a node and change them", "  temper node trait add n1 CUSTOM_GPU")
	c.AddCommand(
		&cobra.Command{
			Use: "list NODE", Short: "List the traits of a node", Args: cobra.ExactArgs(1),
			Example: "  temper node trait list n1", ValidArgsFunction: a.completeNodes("", 1),
			RunE: a.run(a.listTraits),
		},
		&cobra.Command{
			Use: "set NODE TRAIT...", Short: "Replace all traits of a node", Args: cobra.MinimumNArgs(2),
			Example: "  temper node trait set n1 CUSTOM_GPU HW_CPU_X86_VMX", ValidArgsFunction: a.completeNodes("", 1),
			RunE: a.run(func(ctx context.Context, args []string) error {
				return a.traited(args[0], "has", args[1:], a.SetTraits(ctx, args[0], args[1:]))
			}),
		},
		&cobra.Command{
			Use: "add NODE TRAIT...", Short: "Add traits to a node", Args: cobra.MinimumNArgs(2),
			Example: "  temper node trait add n1 CUSTOM_GPU", ValidArgsFunction: a.completeNodes("", 1),
			RunE: a.run(func(ctx context.Context, args []string) error {
				return a.traited(args[0], "now has", args[1:], eachTrait(args[1:], func(t string) error { return a.AddTrait(ctx, args[0], t) }))
			}),
		},
		newTraitRemove(a),
	)
	return c
}

func newTraitRemove(a *asker) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "remove NODE [TRAIT...]", Short: "Take traits from a node", Args: cobra.MinimumNArgs(1),
		Example: "  temper node trait remove n1 CUSTOM_GPU\n  temper node trait remove n1 --all",
	}
	c.Flags().BoolVar(&all, "all", false, "all that it has")
	c.ValidArgsFunction = a.completeTraits
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		traits := args[1:]
		switch {
		case all && len(traits) > 0, !all && len(traits) == 0:
			return errors.New("name traits or say --all")
		case all:
			return a.traited(args[0], "has", nil, a.SetTraits(ctx, args[0], []string{}))
		}
		return a.traited(args[0], "no longer has", traits, eachTrait(traits, func(t string) error { return a.RemoveTrait(ctx, args[0], t) }))
	})
	return c
}

func (a *asker) listTraits(ctx context.Context, args []string) error {
	traits, err := a.Traits(ctx, args[0])
	if err != nil {
		return advised(err)
	}
	return a.show(map[string]any{"traits": orEmpty(traits)}, func(w io.Writer) error {
		for _, t := range traits {
			if _, err := fmt.Fprintln(w, oneLine(t)); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachTrait goes on after one that fails, and names it.
func eachTrait(traits []string, do func(string) error) error {
	var errs []error
	for _, t := range traits {
		if err := do(t); err != nil {
			errs = append(errs, fmt.Errorf("trait %s: %w", t, err))
		}
	}
	return errors.Join(errs...)
}

// traited says what became of a node's traits.
func (a *asker) traited(name, verb string, traits []string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, advised(err))
	}
	words := "no traits"
	if len(traits) > 0 {
		words = strings.Join(traits, ", ")
	}
	return a.report([]string{name}, []done[string]{{name: name, value: verb + " " + words}})
}

// completeTraits offers nodes first, and then what the node has.
func (a *asker) completeTraits(c *cobra.Command, args []string, to string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeNodes("", 1)(c, args, to)
	}
	return a.completing(0, func(ctx context.Context, _ *cobra.Command, args []string) ([]string, error) {
		return a.Traits(ctx, args[0])
	})(c, args, to)
}
