package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

func newNodeValidate(s *session) *cobra.Command {
	var sel selection
	c := &cobra.Command{
		Use: "validate NODE...", Short: "Check the interfaces of nodes, without touching their hardware",
		Example: "  temper node validate n1",
	}
	sel.addFlags(c, s, "")
	must(c.Flags().MarkHidden("yes")) // nothing is done to them
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		sel.yes = true
		names, err := sel.nodes(ctx, s, args, "validate")
		if err != nil {
			return err
		}
		all := forEach(ctx, names, sel.parallel, "", s.Validate)
		return errors.Join(s.show(byName(all), func(w io.Writer) error {
			if len(all) == 0 {
				return nil
			}
			return validationTable(all).Print(w)
		}), joinFailures(all))
	})
	return c
}

func validationTable(all []result[*client.Validation]) table.Table {
	g := table.New("NODE", "INTERFACE", "RESULT", "REASON").Wrap("REASON")
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
			g.Add(d.name, kind, result, v.Reason)
		}
	}
	return g
}
