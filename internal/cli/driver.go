package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newDriverCommand() *cobra.Command {
	return newGroup("driver", "Show the hardware types that conductors have", "  temper driver show redfish",
		func(s *session) []*cobra.Command { return []*cobra.Command{newDriverList(s), newDriverShow(s)} })
}

func newDriverList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List drivers and the conductors that have them", Args: cobra.NoArgs, Example: "  temper driver list",
		RunE: s.run(func(ctx context.Context, _ []string) error {
			drivers, err := s.Drivers(ctx)
			if err != nil {
				return err
			}
			return s.show(map[string]any{"drivers": orEmpty(drivers)}, func(w io.Writer) error {
				g := table.New("NAME", "CONDUCTORS")
				for _, d := range drivers {
					g.Add(d.Name, strings.Join(d.Hosts, ", "))
				}
				return g.Print(w)
			})
		}),
	}
}

func newDriverShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show DRIVER", Short: "Show a driver's interfaces and the properties of its driver_info", Args: cobra.ExactArgs(1),
		Long: `Show a driver's interfaces and the properties of its driver_info and, if the driver has RAID, those of the logical
disks of a RAID configuration. In JSON and YAML the properties are in "driver_info" and "logical_disks".`,
		Example: "  temper driver show redfish", ValidArgsFunction: s.completeDrivers(1),
		RunE: s.run(func(ctx context.Context, args []string) error {
			d, err := s.Driver(ctx, args[0])
			if err != nil {
				return err
			}
			properties, err := s.DriverProperties(ctx, args[0])
			if err != nil {
				return err
			}
			doc := d.Fields()
			disks, err := s.LogicalDiskProperties(ctx, args[0])
			if err != nil {
				return err
			}
			doc["driver_info"] = properties
			if disks != nil {
				doc["logical_disks"] = disks
			}
			return s.show(doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n\n%s\n", interfaceTable(d).String(), propertyTable("DRIVER_INFO", properties).String())
				if err == nil && disks != nil {
					_, err = fmt.Fprintf(w, "\n%s\n", propertyTable("LOGICAL DISK", disks).String())
				}
				return err
			})
		}),
	}
}

func interfaceTable(d *client.Driver) table.Table {
	fields := d.Fields()
	g := table.New("INTERFACE", "DEFAULT", "ENABLED")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		named, isDefault := strings.CutPrefix(name, "default_")
		kind, isInterface := strings.CutSuffix(named, "_interface")
		if !isDefault || !isInterface {
			continue
		}
		var enabled []string
		if list, ok := fields["enabled_"+kind+"_interfaces"].([]any); ok {
			for _, one := range list {
				enabled = append(enabled, table.Cell(one))
			}
		}
		g.Add(kind, table.Cell(fields[name]), strings.Join(enabled, ", "))
	}
	return g
}

func propertyTable(of string, properties map[string]string) table.Table {
	g := table.New(of, "WHAT IT IS FOR").Wrap("WHAT IT IS FOR")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		g.Add(name, properties[name])
	}
	return g
}
