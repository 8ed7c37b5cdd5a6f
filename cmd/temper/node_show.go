package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newNodeShow(a *asker) *cobra.Command {
	var s chosen
	var all bool
	var fields []string
	c := &cobra.Command{
		Use: "show NODE...", Short: "Show nodes with what goes on on them",
		Long:    "Show nodes with what goes on on them. The table leaves out what is empty; JSON and YAML have every field.",
		Example: "  temper node show n1\n  temper node show n1 -o json",
	}
	s.addFlags(c, a, "")
	must(c.Flags().MarkHidden("yes")) // nothing is done to them
	c.Flags().BoolVar(&all, "all", false, "show empty fields, too, and long ones whole")
	c.Flags().StringSliceVar(&fields, "fields", nil, "show these `fields` of the API only, with commas")
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		s.yes = true
		names, err := s.nodes(ctx, a, args, "show")
		if err != nil {
			return err
		}
		found := each(ctx, names, s.parallel, "", func(ctx context.Context, name string) (*client.Node, error) {
			return a.Node(ctx, name, fields...)
		})
		return errors.Join(a.showNodes(values(found), s.inState == "" && len(names) == 1, all), failed(found))
	})
	return c
}

// showNodes shows nodes whole: the one that was asked for as it is, several as a list.
func (a *asker) showNodes(nodes []*client.Node, one, all bool) error {
	if len(nodes) == 0 && one {
		return nil
	}
	doc := any(map[string]any{"nodes": orEmpty(nodes)})
	if one {
		doc = nodes[0]
	}
	return a.show(doc, func(w io.Writer) error {
		for i, n := range nodes {
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			if err := fieldsTable(n.Fields(), nodeOrder, notShown, all).writeTo(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// nodeOrder are the fields that come first, in this order; the others follow by name.
var nodeOrder = []string{
	"name", "uuid", "description", "driver", "provision_state", "target_provision_state", "provision_updated_at",
	"power_state", "target_power_state", "maintenance", "maintenance_reason", "fault", "last_error", "reservation", "conductor",
	"conductor_group", "resource_class", "traits", "instance_uuid",
}

// notShown are links to other resources, which nobody reads in a table.
var notShown = []string{"links", "ports", "portgroups", "states", "volume"}

// fieldsTable is a resource as a table of its fields: dictionaries a line a key, empty ones left out unless all.
func fieldsTable(fields map[string]any, first, hidden []string, all bool) grid {
	g := newGrid()
	add := func(name string) {
		if v, ok := fields[name]; ok && !slices.Contains(hidden, name) {
			addField(g, name, v, all, 0)
		}
	}
	for _, name := range first {
		add(name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(first, name) {
			add(name)
		}
	}
	return g
}

// Bounds of a table of fields, unless all is to be shown.
const (
	mostDepth = 3   // how deep dictionaries are taken apart
	mostField = 250 // characters of a field
)

func addField(g grid, name string, v any, all bool, depth int) {
	if m, ok := v.(map[string]any); ok && len(m) > 0 && depth < mostDepth {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			addField(g, name+"."+key, m[key], all, depth+1)
		}
		return
	}
	switch {
	case all:
		g.add(name, cell(v))
	case !isEmpty(v):
		g.add(name, atMost(cell(v), mostField))
	}
}

// isEmpty says whether a field tells nothing. false and 0 tell something.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
