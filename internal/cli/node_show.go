package cli

import (
	"context"
	"errors"
	"io"
	"maps"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newNodeShow(s *session) *cobra.Command {
	var sel selection
	var all bool
	var fields []string
	c := &cobra.Command{
		Use: "show NODE...", Short: "Show nodes with their state and settings",
		Long:    "Show nodes with their state and settings. The table leaves out empty fields; JSON and YAML have every field.",
		Example: "  temper node show n1\n  temper node show n1 -o json",
	}
	sel.addFlags(c, s, "")
	must(c.Flags().MarkHidden("yes")) // nothing is done to them
	c.Flags().BoolVar(&all, "all", false, "show empty fields as well, and long ones in full")
	c.Flags().StringSliceVar(&fields, "fields", nil, "show only these `fields` of the API, separated by commas")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		sel.yes = true
		names, err := sel.nodes(ctx, s, args, "show")
		if err != nil {
			return err
		}
		found := forEach(ctx, names, sel.parallel, "", func(ctx context.Context, name string) (*client.Node, error) {
			return s.Node(ctx, name, fields...)
		})
		nodes := succeeded(found)
		var powers map[string]client.NodePower
		if s.format == asTable && fields == nil {
			powers = s.powersOf(ctx, nodes)
		}
		return errors.Join(s.showNodes(nodes, powers, sel.inState == "" && len(names) == 1, all), joinFailures(found))
	})
	return c
}

// showNodes shows all fields of nodes; tables show the power as powers has it. In JSON and YAML, one node stands alone, and
// several are a list.
func (s *session) showNodes(nodes []*client.Node, powers map[string]client.NodePower, one, all bool) error {
	if len(nodes) == 0 && one {
		return nil
	}
	doc := any(map[string]any{"nodes": orEmpty(nodes)})
	if one {
		doc = nodes[0]
	}
	return s.show(doc, func(w io.Writer) error {
		for i, n := range nodes {
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			fields := n.Fields()
			if p, ok := powers[n.UUID]; ok {
				fields = maps.Clone(fields)
				fields["power_state"] = p.Power.Text
			}
			if err := table.Fields(fields, firstNodeFields, hiddenFields, all).Print(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// firstNodeFields are the fields that come first. The others follow, sorted by name.
var firstNodeFields = []string{
	"name", "uuid", "description", "driver", "provision_state", "target_provision_state", "provision_updated_at",
	"power_state", "target_power_state", "maintenance", "maintenance_reason", "fault", "last_error", "reservation", "conductor",
	"conductor_group", "resource_class", "traits", "instance_uuid",
}

// hiddenFields are links to other resources. Tables leave them out.
var hiddenFields = []string{"links", "ports", "portgroups", "states", "volume"}
