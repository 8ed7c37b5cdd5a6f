package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newNodeCommand(ask AskBMC) *cobra.Command {
	return newGroup("node", "Enrol, provision and show nodes", "  temper node list\n  temper node deploy n1 --help",
		func(s *session) []*cobra.Command {
			all := []*cobra.Command{
				newNodeList(s), newNodeShow(s), newNodeCreate(s, ask), newNodeSet(s), newNodeUnset(s), newNodeDelete(s),
				newNodePower(s), newNodeBootDevice(s), newNodeNMI(s), newNodeBMCPassword(s), newNodePassthru(s), newNodeConsole(s), newNodeValidate(s), newNodeMaintenance(s), newNodeHealth(s), newNodeHistory(s), newNodeInventory(s), newNodeLogs(s), newNodeTrait(s),
				newNodeBIOS(s), newNodeFirmware(s), newNodeClean(s), newNodeService(s), newNodeDeploy(s), newNodeRebuild(s), newNodeRescue(s), newNodeWhy(s), newNodeRecover(s), newNodeWaive(s),
			}
			return append(all, newNodeVerbs(s)...)
		})
}

// nodeFilters are the flags of temper node list for which Ironic has a filter.
var nodeFilters = []struct{ flag, filter, help string }{
	{"state", "provision_state", "in this provision `state`"},
	{"driver", "driver", "with this `driver`"},
	{"resource-class", "resource_class", "of this resource `class`"},
	{"conductor-group", "conductor_group", "in this conductor `group`"},
	{"conductor", "conductor", "that the ring assigns to this `conductor`"},
	{"owner", "owner", "of this `owner`"},
	{"lessee", "lessee", "of this `lessee`"},
	{"fault", "fault", "with this `fault`, e.g. \"power failure\" or \"no conductor\""},
	{"instance", "instance_uuid", "with this instance `uuid`"},
	{"shard", "shard", "in one of these `shards`, separated by commas"},
}

// nodeListing are the flags of temper node list.
type nodeListing struct {
	filters                          map[string]*string
	maintenance, associated, retired bool
	fields                           []string
	long                             bool
	deleted                          bool
	sort                             string
	limit                            int
}

func newNodeList(s *session) *cobra.Command {
	l := &nodeListing{filters: map[string]*string{}}
	c := &cobra.Command{
		Use: "list", Short: "List nodes", Args: cobra.NoArgs,
		Long: `List nodes. HELD BY is the conductor that works on the node or, while nobody does because its operation waits, holds or is paused,
the state of the operation, and its number; "temper node why NODE" says more. In JSON and YAML, and with --fields, nodes are as Ironic's API shows
them: reservation is null then.`,
		Example: "  temper node list --state available --long\n  temper node list -o json",
	}
	f := c.Flags()
	for _, one := range nodeFilters {
		l.filters[one.filter] = f.String(one.flag, "", "only nodes "+one.help)
	}
	f.BoolVar(&l.maintenance, "maintenance", false, "only nodes in maintenance (=false: only the others)")
	f.BoolVar(&l.associated, "associated", false, "only nodes with an instance (=false: only the others)")
	f.BoolVar(&l.retired, "retired", false, "only retired nodes (=false: only the others)")
	f.StringSliceVar(&l.fields, "fields", nil, "show these `fields` of the API, separated by commas")
	f.BoolVar(&l.long, "long", false, "show more columns")
	f.BoolVar(&l.deleted, "deleted", false, "list deleted nodes instead, and who deleted them")
	f.StringVar(&l.sort, "sort", "", "sort by this `field`; FIELD:desc for descending order")
	f.IntVar(&l.limit, "limit", client.DefaultLimit, "show at most this many")
	must(c.RegisterFlagCompletionFunc("state", completeStates))
	must(c.RegisterFlagCompletionFunc("driver", s.completeDrivers(0)))
	must(c.RegisterFlagCompletionFunc("conductor", s.completeConductors(0)))
	c.RunE = func(c *cobra.Command, args []string) error {
		if l.deleted {
			return s.run(func(ctx context.Context, _ []string) error { return listDeletedNodes(ctx, s, l.limit) })(c, args)
		}
		q, err := l.query(c, s.format)
		if err != nil {
			return err
		}
		return s.run(func(ctx context.Context, _ []string) error {
			list, err := s.Nodes(ctx, q, l.limit)
			if err != nil {
				return err
			}
			s.reportMore(list.More, l.limit, "nodes")
			var powers map[string]client.NodePower
			if s.format == asTable && l.fields == nil {
				powers = s.powersOf(ctx, pointers(list.Items))
			}
			return s.show(map[string]any{"nodes": orEmpty(list.Items)}, func(w io.Writer) error {
				return l.table(list.Items, powers).Print(w)
			})
		})(c, args)
	}
	return c
}

// query returns the query that the flags stand for.
func (l *nodeListing) query(c *cobra.Command, f format) (url.Values, error) {
	if err := checkLimit(l.limit); err != nil {
		return nil, err
	}
	q := url.Values{}
	for filter, v := range l.filters {
		if *v != "" {
			q.Set(filter, *v)
		}
	}
	for name, v := range map[string]bool{"maintenance": l.maintenance, "associated": l.associated, "retired": l.retired} {
		if c.Flags().Changed(name) {
			q.Set(name, fmt.Sprint(v))
		}
	}
	switch {
	case l.fields != nil:
		q.Set("fields", strings.Join(l.fields, ","))
	case f != asTable:
		q.Set("detail", "true")
	default:
		q.Set("fields", strings.Join(append(slices.Clone(l.columns()), "fault"), ","))
	}
	if l.sort != "" {
		key, dir, _ := strings.Cut(l.sort, ":")
		q.Set("sort_key", key)
		if dir != "" {
			q.Set("sort_dir", dir)
		}
	}
	return q, nil
}

// The columns of lists of nodes: fields of the API, and heads that differ from the field's name.
var (
	nodeColumns = []string{"name", "uuid", "provision_state", "target_provision_state", "power_state", "maintenance", "reservation", "instance_uuid"}
	longColumns = []string{"driver", "resource_class", "conductor_group", "conductor", "fault", "last_error"}
	columnHeads = map[string]string{
		"provision_state": "STATE", "target_provision_state": "TARGET", "power_state": "POWER", "reservation": "HELD BY",
		"instance_uuid": "INSTANCE", "last_error": "LAST ERROR",
	}
)

func (l *nodeListing) columns() []string {
	switch {
	case l.fields != nil:
		return l.fields
	case l.long:
		return slices.Concat(nodeColumns, longColumns)
	}
	return nodeColumns
}

func (l *nodeListing) table(nodes []client.Node, powers map[string]client.NodePower) table.Table {
	columns := l.columns()
	heads := make([]string, len(columns))
	for i, name := range columns {
		switch heads[i] = columnHeads[name]; {
		case l.fields != nil: // as the user named them
			heads[i] = strings.ToUpper(name)
		case heads[i] == "":
			heads[i] = strings.ToUpper(strings.ReplaceAll(name, "_", " "))
		}
	}
	g := table.New(heads...).Wrap("LAST ERROR", "LAST_ERROR")
	for i := range nodes {
		fields := nodes[i].Fields()
		cells := make([]string, len(columns))
		for k, name := range columns {
			cells[k] = table.Cell(fields[name])
			if l.fields == nil { // a list for people
				cells[k] = listCell(name, fields)
			}
			p, ok := powers[nodes[i].UUID]
			switch {
			case ok && name == "power_state":
				cells[k] = p.Power.Short
			case ok && name == "reservation":
				cells[k] = heldBy(nodes[i].Reservation, p.Operation)
			}
		}
		g.Add(cells...)
	}
	return g
}

// listCell returns a field as a cell of a list for people. If Temper has set the maintenance because of a fault, the cell names that, such as "yes: no conductor".
func listCell(name string, fields map[string]any) string {
	b, ok := fields[name].(bool)
	switch fault, _ := fields["fault"].(string); {
	case !ok:
		return table.Cell(fields[name])
	case b && name == "maintenance":
		return "yes" + table.Optional(": ", fault)
	default:
		return table.YesNo(b)
	}
}

func newNodeDelete(s *session) *cobra.Command {
	var sel selection
	c := &cobra.Command{
		Use: "delete NODE...", Short: "Delete nodes; their hardware is left as it is", Example: "  temper node delete n1 n2",
	}
	sel.addFlags(c, s, "")
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		names, err := sel.nodes(ctx, s, args, "delete")
		if err != nil {
			return err
		}
		return s.report(names, forEach(ctx, names, sel.parallel, "", func(ctx context.Context, name string) (string, error) {
			return "deleted", s.DeleteNode(ctx, name)
		}))
	})
	return c
}

// uuidOf returns the uuid of a node by its name, for requests that take no name.
func (s *session) uuidOf(ctx context.Context, ident string) (string, error) {
	if node.IsUUIDLike(ident) {
		return ident, nil
	}
	n, err := s.Node(ctx, ident, "uuid")
	if err != nil {
		return "", withAdvice(err)
	}
	return n.UUID, nil
}
