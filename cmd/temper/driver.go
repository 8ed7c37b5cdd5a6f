package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/client"
)

func newDriverCommand() *cobra.Command {
	return group("driver", "Look at the hardware types that conductors have", "  temper driver show redfish",
		func(a *asker) []*cobra.Command { return []*cobra.Command{newDriverList(a), newDriverShow(a)} })
}

func newDriverList(a *asker) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List drivers and the conductors that have them", Args: cobra.NoArgs, Example: "  temper driver list",
		RunE: a.run(func(ctx context.Context, _ []string) error {
			drivers, err := a.Drivers(ctx)
			if err != nil {
				return err
			}
			return a.show(map[string]any{"drivers": orEmpty(drivers)}, func(w io.Writer) error {
				g := newGrid("NAME", "CONDUCTORS")
				for _, d := range drivers {
					g.add(d.Name, strings.Join(d.Hosts, ", "))
				}
				return g.writeTo(w)
			})
		}),
	}
}

func newDriverShow(a *asker) *cobra.Command {
	return &cobra.Command{
		Use: "show DRIVER", Short: "Show a driver's interfaces and what its driver_info may hold", Args: cobra.ExactArgs(1),
		Long: `Show a driver's interfaces and what its driver_info may hold. In JSON and YAML the latter are below
"driver_info", which the API answers by itself.`,
		Example: "  temper driver show redfish", ValidArgsFunction: a.completeDrivers(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			d, err := a.Driver(ctx, args[0])
			if err != nil {
				return err
			}
			properties, err := a.DriverProperties(ctx, args[0])
			if err != nil {
				return err
			}
			doc := d.Fields()
			doc["driver_info"] = properties
			return a.show(doc, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n\n%s\n", interfaceTable(d).Render(), propertyTable(properties).Render())
				return err
			})
		}),
	}
}

func interfaceTable(d *client.Driver) grid {
	fields := d.Fields()
	g := newGrid("INTERFACE", "DEFAULT", "ENABLED")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		named, isDefault := strings.CutPrefix(name, "default_")
		kind, isInterface := strings.CutSuffix(named, "_interface")
		if !isDefault || !isInterface {
			continue
		}
		var enabled []string
		if list, ok := fields["enabled_"+kind+"_interfaces"].([]any); ok {
			for _, one := range list {
				enabled = append(enabled, cell(one))
			}
		}
		g.add(kind, cell(fields[name]), strings.Join(enabled, ", "))
	}
	return g
}

func propertyTable(properties map[string]string) grid {
	g := newGrid("DRIVER_INFO", "WHAT IT IS FOR")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		g.add(name, properties[name])
	}
	return g
}
