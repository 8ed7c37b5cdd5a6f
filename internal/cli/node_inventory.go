package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

func newNodeInventory(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "inventory NODE", Short: "Show a node's hardware, and how it differs from before and from other nodes", Args: cobra.ExactArgs(1),
		Long: `Show a node's hardware, and how it differs from before and from other nodes: what the last inspection found, its disks with the serial
numbers that root device hints can name (temper node set NODE --property 'root_device={"serial": "SERIAL"}'), what has changed since the
inspection before, and which facts are different on most other nodes of the resource class. Differences are only shown: the node
is offered and deployed like any other. GET /v1/nodes/NODE/inventory has the whole inventory.`,
		Example: "  temper node inventory n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		h, err := s.Hardware(ctx, args[0])
		if client.StatusOf(err) == http.StatusNotFound && client.CodeOf(err) != fault.NodeNotFound {
			return s.neverInspected(ctx, args[0])
		}
		if err != nil {
			return withAdvice(err)
		}
		return s.show(h, func(w io.Writer) error { return printHardware(w, h) })
	})
	return c
}

// neverInspected is the error for a node without an inventory. It suggests an inspection only if the node's driver has one.
func (s *session) neverInspected(ctx context.Context, name string) error {
	v, err := s.Validate(ctx, name)
	if err != nil {
		return fmt.Errorf("node %s was never inspected", name)
	}
	switch can := v.Interfaces["inspect"]; {
	case can.Result != nil && *can.Result:
		return fmt.Errorf("node %s was never inspected; temper node inspect %s, while it is manageable, finds out what hardware it has", name, name)
	case can.Result == nil || can.Code == fault.NotSupported:
		return fmt.Errorf("node %s was never inspected, and its driver can't inspect it with these interfaces: %s", name, cmp.Or(can.Reason, "it has no inspection"))
	default:
		return fmt.Errorf("node %s was never inspected, and it can't be inspected as it is: %s", name, can.Reason)
	}
}

func printHardware(w io.Writer, h *client.Hardware) error {
	usual := map[string]string{}
	for _, d := range h.Siblings.Differences {
		usual[d.Name] = fmt.Sprintf("%s (%d of %d)", d.Usual, d.Nodes, d.Of)
	}
	g := table.New("FACT", "VALUE", "USUAL IN ITS CLASS").Wrap("VALUE").Wrap("USUAL IN ITS CLASS")
	for _, f := range h.Facts {
		g.Add(f.Name, f.Value, usual[f.Name])
	}
	if err := g.Print(w); err != nil {
		return err
	}
	if err := printDisks(w, h.Disks); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nThe last inspection was at %s.\n%s\n%s\n", table.Time(h.CollectedAt), siblingsSentence(h), changesSentence(h))
	for _, c := range h.Changes {
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "  %s\n", c.Text)
	}
	if h.MoreChanges > 0 && err == nil {
		_, err = fmt.Fprintf(w, "  %d more\n", h.MoreChanges)
	}
	return err
}

// printDisks prints the disks, if there are any, with what root device hints can name them by.
func printDisks(w io.Writer, disks []client.Disk) error {
	if len(disks) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	g := table.New("DISK", "SIZE", "MODEL", "SERIAL", "WWN").Whole("SERIAL")
	for _, d := range disks {
		size := ""
		if d.Size > 0 {
			size = text.Size(float64(d.Size))
		}
		g.Add(d.Name, size, d.Model, d.Serial, d.WWN)
	}
	return g.Print(w)
}

func siblingsSentence(h *client.Hardware) string {
	switch n := len(h.Siblings.Differences); {
	case h.Siblings.ResourceClass == "":
		return "It has no resource class, so it is compared with no other node."
	case h.Siblings.Compared == 0:
		return "No other node of the resource class " + h.Siblings.ResourceClass + " was inspected."
	case n == 0:
		return fmt.Sprintf("It is as usual among the %d other inspected nodes of the resource class %s.", h.Siblings.Compared, h.Siblings.ResourceClass)
	case n == 1:
		return fmt.Sprintf("1 fact differs from most of the %d other inspected nodes of the resource class %s.", h.Siblings.Compared, h.Siblings.ResourceClass)
	default:
		return fmt.Sprintf("%d facts differ from most of the %d other inspected nodes of the resource class %s.", n, h.Siblings.Compared, h.Siblings.ResourceClass)
	}
}

func changesSentence(h *client.Hardware) string {
	switch n := len(h.Changes) + h.MoreChanges; {
	case h.ChangedSince == nil:
		return "There was no inspection before, so nothing is known to have changed."
	case n == 1:
		return "1 part has changed since the inspection of " + table.Time(h.ChangedSince) + ":"
	case n == 0:
		return "Nothing has changed since the inspection of " + table.Time(h.ChangedSince) + "."
	}
	return fmt.Sprintf("%d parts have changed since the inspection of %s:", len(h.Changes)+h.MoreChanges, table.Time(h.ChangedSince))
}
