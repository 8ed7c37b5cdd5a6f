package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

func newNodeValidate(a *asker) *cobra.Command {
	var s chosen
	c := &cobra.Command{
		Use: "validate NODE...", Short: "Check whether nodes could be worked on, without touching their hardware",
		Example: "  temper node validate n1",
	}
	s.addFlags(c, a, "")
	must(c.Flags().MarkHidden("yes")) // nothing is done to them
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		s.yes = true
		names, err := s.nodes(ctx, a, args, "validate")
		if err != nil || len(names) == 0 {
			return err
		}
		all := each(ctx, names, s.parallel, "", a.Validate)
		byName := map[string]*client.Validation{}
		for _, d := range all {
			if d.err == nil {
				byName[d.name] = d.value
			}
		}
		doc := any(byName)
		if one := byName[names[0]]; len(names) == 1 && one != nil {
			doc = one
		}
		return errors.Join(a.show(doc, func(w io.Writer) error { return validationTable(all).writeTo(w) }), failed(all))
	})
	return c
}

func validationTable(all []done[*client.Validation]) grid {
	g := newGrid("NODE", "INTERFACE", "RESULT", "REASON")
	for _, d := range all {
		if d.err != nil {
			continue
		}
		for _, kind := range slices.Sorted(maps.Keys(d.value.Interfaces)) {
			v := d.value.Interfaces[kind]
			result := "unsupported"
			switch {
			case v.Result == nil || v.Code == fault.NotSupported:
				v.Reason = ""
			case *v.Result:
				result = "good"
			default:
				result = "not good"
			}
			g.add(d.name, kind, result, v.Reason)
		}
	}
	return g
}
