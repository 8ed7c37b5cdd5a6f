package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newPortCommand() *cobra.Command {
	return newGroup("port", "Show and change the network ports of nodes", "  temper port list --node n1",
		func(s *session) []*cobra.Command {
			return []*cobra.Command{newPortList(s), newPortShow(s), newPortCreate(s), newPortSet(s), newPortDelete(s)}
		})
}

// portFields are the fields of a port that a client sets.
var portFields = []field{
	{flag: "name", name: "name", help: "`name`"},
	{flag: "address", name: "address", help: "`MAC` address"},
	{flag: "pxe-enabled", name: "pxe_enabled", boolean: true, help: "whether the node boots from it"},
	{flag: "port-group", name: "portgroup_uuid", help: "`uuid` of the port group that it is a part of"},
	{flag: "physical-network", name: "physical_network", help: "physical `network` that it is connected to"},
	{flag: "local-link", name: "local_link_connection", dict: true, text: true, help: "switch_id, port_id and switch_info of the other end; @FILE: an object"},
	{flag: "extra", name: "extra", dict: true, help: "additional data; @FILE: an object"},
}

func newPortList(s *session) *cobra.Command {
	var of, address, group string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List ports", Args: cobra.NoArgs,
		Example: "  temper port list --node n1",
	}
	c.Flags().StringVar(&of, "node", "", "only ports of this `node`")
	c.Flags().StringVar(&address, "address", "", "only the port with this `MAC` address")
	c.Flags().StringVar(&group, "port-group", "", "only ports of this `port group`")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most this many")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	must(c.RegisterFlagCompletionFunc("port-group", portgroupKind.complete(s, 0)))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		q := nonEmpty(map[string]string{"detail": "true", "node": of, "address": address, "portgroup": group})
		list, err := s.Ports(ctx, q, limit)
		if err != nil {
			return withAdvice(err)
		}
		s.reportMore(list.More, limit, "ports")
		return s.show(map[string]any{"ports": orEmpty(list.Items)}, func(w io.Writer) error {
			return portTable(list.Items).Print(w)
		})
	})
	return c
}

func portTable(ports []client.Port) table.Table {
	g := table.New("UUID", "ADDRESS", "NAME", "PXE", "PHYSICAL NETWORK", "NODE")
	for _, p := range ports {
		g.Add(p.UUID, p.Address, p.Name, table.YesNo(p.PXEEnabled), p.PhysicalNetwork, p.NodeUUID)
	}
	return g
}

// showPort shows all fields of a port.
func (s *session) showPort(p *client.Port) error {
	return s.show(p, func(w io.Writer) error {
		return table.Fields(p.Fields(), []string{"uuid", "address", "name", "node_uuid"}, hiddenFields, false).Print(w)
	})
}

func newPortShow(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "show PORT", Short: "Show a port, by its uuid, name or MAC address", Args: cobra.ExactArgs(1),
		Example: "  temper port show 52:54:00:00:00:01", ValidArgsFunction: s.completePorts(1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		ident, err := s.portOf(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := s.Port(ctx, ident)
		if err != nil {
			return err
		}
		return s.showPort(p)
	})
	return c
}

// portOf returns the uuid or name of a port, which may be given by its MAC address.
func (s *session) portOf(ctx context.Context, ident string) (string, error) {
	if _, err := node.ValidMAC(ident); err != nil {
		return ident, nil //nolint:nilerr // it is a uuid or a name, then
	}
	list, err := s.Ports(ctx, url.Values{"address": {ident}}, 1)
	switch {
	case err != nil:
		return "", err
	case len(list.Items) == 0:
		return "", fmt.Errorf("no port has the address %s; temper port list shows which there are", ident)
	}
	return list.Items[0].UUID, nil
}

func newPortCreate(s *session) *cobra.Command {
	var of string
	c := &cobra.Command{
		Use: "create ADDRESS", Short: "Add a port to a node", Args: cobra.ExactArgs(1),
		Example: "  temper port create 52:54:00:00:00:01 --node n1", ValidArgsFunction: cobra.NoFileCompletions,
	}
	var creatable []field
	for _, f := range portFields {
		if f.name != "address" {
			creatable = append(creatable, f)
		}
	}
	flags := addFields(c, creatable)
	c.Flags().StringVar(&of, "node", "", "the `node` it belongs to (required)")
	must(c.MarkFlagRequired("node"))
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		uuid, err := s.uuidOf(ctx, of)
		if err != nil {
			return err
		}
		fields := flags.values()
		fields["node_uuid"], fields["address"] = uuid, args[0]
		p, err := s.CreatePort(ctx, fields)
		if err != nil {
			return err
		}
		return s.showPort(p)
	})
	return c
}

func newPortSet(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "set PORT", Short: "Set fields of a port; an empty value takes one away", Args: cobra.ExactArgs(1),
		Example: "  temper port set 52:54:00:00:00:01 --pxe-enabled=false", ValidArgsFunction: s.completePorts(1),
	}
	flags := addFields(c, portFields)
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		changes, err := flags.patch()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return errors.New("say what is to change: --help shows which flags there are")
		}
		ident, err := s.portOf(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := s.PatchPort(ctx, ident, changes)
		if err != nil {
			return err
		}
		return s.showPort(p)
	})
	return c
}

func newPortDelete(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "delete PORT...", Short: "Delete ports", Args: cobra.MinimumNArgs(1),
		Example: "  temper port delete 52:54:00:00:00:01", ValidArgsFunction: s.completePorts(0),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		return s.deleteEach(ctx, args, func(ctx context.Context, name string) error {
			ident, err := s.portOf(ctx, name)
			if err != nil {
				return err
			}
			return s.DeletePort(ctx, ident)
		})
	})
	return c
}
