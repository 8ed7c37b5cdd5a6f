package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newPortCommand() *cobra.Command {
	return group("port", "Look at the network ports of nodes and change them", "  temper port list --node n1",
		func(a *asker) []*cobra.Command {
			return []*cobra.Command{newPortList(a), newPortShow(a), newPortCreate(a), newPortSet(a), newPortDelete(a)}
		})
}

// portFields are the fields of a port that a client sets.
var portFields = []field{
	{flag: "name", name: "name", help: "`name`"},
	{flag: "address", name: "address", help: "`MAC` address"},
	{flag: "pxe-enabled", name: "pxe_enabled", boolean: true, help: "the node boots from it"},
	{flag: "physical-network", name: "physical_network", help: "`network` that it is plugged into"},
	{flag: "local-link", name: "local_link_connection", dict: true, text: true, help: "switch_id, port_id and switch_info of the other end; @FILE: an object"},
	{flag: "extra", name: "extra", dict: true, help: "anything else; @FILE: an object"},
}

func newPortList(a *asker) *cobra.Command {
	var of, address string
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List ports", Args: cobra.NoArgs,
		Example: "  temper port list --node n1",
	}
	c.Flags().StringVar(&of, "node", "", "only those of this `node`")
	c.Flags().StringVar(&address, "address", "", "only the one with this `MAC` address")
	c.Flags().IntVar(&limit, "limit", client.DefaultLimit, "show at most so many")
	must(c.RegisterFlagCompletionFunc("node", a.completeNodes("", 0)))
	c.RunE = a.run(func(ctx context.Context, _ []string) error {
		if err := goodLimit(limit); err != nil {
			return err
		}
		q := given(map[string]string{"detail": "true", "node": of, "address": address})
		list, err := a.Ports(ctx, q, limit)
		if err != nil {
			return advised(err)
		}
		a.noteMore(list.More, limit, "ports")
		return a.show(map[string]any{"ports": orEmpty(list.Items)}, func(w io.Writer) error {
			return portTable(list.Items).writeTo(w)
		})
	})
	return c
}

func portTable(ports []client.Port) grid {
	g := newGrid("UUID", "ADDRESS", "NAME", "PXE", "PHYSICAL NETWORK", "NODE")
	for _, p := range ports {
		g.add(p.UUID, p.Address, p.Name, yesNo(p.PXEEnabled), p.PhysicalNetwork, p.NodeUUID)
	}
	return g
}

// showPort shows one port whole.
func (a *asker) showPort(p *client.Port) error {
	return a.show(p, func(w io.Writer) error {
		return fieldsTable(p.Fields(), []string{"uuid", "address", "name", "node_uuid"}, notShown, false).writeTo(w)
	})
}

func newPortShow(a *asker) *cobra.Command {
	c := &cobra.Command{
		Use: "show PORT", Short: "Show a port, by its uuid, name or MAC address", Args: cobra.ExactArgs(1),
		Example: "  temper port show 52:54:00:00:00:01", ValidArgsFunction: a.completePorts(1),
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		ident, err := a.portOf(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := a.Port(ctx, ident)
		if err != nil {
			return err
		}
		return a.showPort(p)
	})
	return c
}

// portOf is what the API knows a port by: a MAC address is looked up.
func (a *asker) portOf(ctx context.Context, ident string) (string, error) {
	if _, err := node.ValidMAC(ident); err != nil {
		return ident, nil //nolint:nilerr // it is a uuid or a name, then
	}
	list, err := a.Ports(ctx, url.Values{"address": {ident}}, 1)
	switch {
	case err != nil:
		return "", err
	case len(list.Items) == 0:
		return "", fmt.Errorf("no port has the address %s; temper port list shows which there are", ident)
	}
	return list.Items[0].UUID, nil
}

func newPortCreate(a *asker) *cobra.Command {
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
	must(c.RegisterFlagCompletionFunc("node", a.completeNodes("", 0)))
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		uuid, err := a.uuidOf(ctx, of)
		if err != nil {
			return err
		}
		fields := flags.values()
		fields["node_uuid"], fields["address"] = uuid, args[0]
		p, err := a.CreatePort(ctx, fields)
		if err != nil {
			return err
		}
		return a.showPort(p)
	})
	return c
}

func newPortSet(a *asker) *cobra.Command {
	c := &cobra.Command{
		Use: "set PORT", Short: "Set fields of a port; an empty value takes one away", Args: cobra.ExactArgs(1),
		Example: "  temper port set 52:54:00:00:00:01 --pxe-enabled=false", ValidArgsFunction: a.completePorts(1),
	}
	flags := addFields(c, portFields)
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		changes, err := flags.patch()
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			return errors.New("say what is to change: --help shows which flags there are")
		}
		ident, err := a.portOf(ctx, args[0])
		if err != nil {
			return err
		}
		p, err := a.PatchPort(ctx, ident, changes)
		if err != nil {
			return err
		}
		return a.showPort(p)
	})
	return c
}

func newPortDelete(a *asker) *cobra.Command {
	c := &cobra.Command{
		Use: "delete PORT...", Short: "Forget ports", Args: cobra.MinimumNArgs(1),
		Example: "  temper port delete 52:54:00:00:00:01", ValidArgsFunction: a.completePorts(0),
	}
	c.RunE = a.run(func(ctx context.Context, args []string) error {
		return a.deleteEach(ctx, args, func(ctx context.Context, name string) error {
			ident, err := a.portOf(ctx, name)
			if err != nil {
				return err
			}
			return a.DeletePort(ctx, ident)
		})
	})
	return c
}
