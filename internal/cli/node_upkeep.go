package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
)

func newNodeBIOS(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "bios NODE", Short: "List the BIOS settings of a node, as they were read last", Args: cobra.ExactArgs(1),
		Long: `List the BIOS settings of a node, as they were read last: after temper node manage, after an inspection, and by the steps that change them
(temper node clean and temper node service, step bios.apply_configuration).`,
		Example: "  temper node bios n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		list, err := s.BIOSSettings(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(map[string]any{"bios": orEmpty(list)}, func(w io.Writer) error {
			if len(list) == 0 {
				return neverRead(w, args[0], "BIOS settings")
			}
			g := table.New("SETTING", "VALUE", "CAN BE", "READ").Wrap("CAN BE")
			for _, b := range list {
				value := ""
				if b.Value != nil {
					value = *b.Value
				}
				g.Add(b.Name, value, canBe(&b), table.Age(b.At(), s.now()))
			}
			return g.Print(w)
		})
	})
	return c
}

// canBe says which values a BIOS setting may have; "" = the BMC's registry does not.
func canBe(b *client.BIOSSetting) string {
	switch {
	case b.ReadOnly != nil && *b.ReadOnly:
		return "read only"
	case b.LowerBound != nil && b.UpperBound != nil:
		return fmt.Sprintf("%d to %d", *b.LowerBound, *b.UpperBound)
	case b.LowerBound != nil:
		return fmt.Sprintf("at least %d", *b.LowerBound)
	case b.UpperBound != nil:
		return fmt.Sprintf("at most %d", *b.UpperBound)
	case b.MinLength != nil && b.MaxLength != nil:
		return fmt.Sprintf("%d to %d characters", *b.MinLength, *b.MaxLength)
	case b.MaxLength != nil:
		return fmt.Sprintf("at most %d characters", *b.MaxLength)
	}
	return strings.Join(b.Allowed, ", ")
}

func newNodeFirmware(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "firmware NODE", Short: "List the versions of a node's firmware, as they were read last", Args: cobra.ExactArgs(1),
		Long: `List the versions of a node's firmware, as they were read last: after temper node manage, after an inspection, and by the step
firmware.update (temper node clean and temper node service). FIRST is what was there when they were read for the first time.`,
		Example: "  temper node firmware n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		list, err := s.FirmwareVersions(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(map[string]any{"firmware": orEmpty(list)}, func(w io.Writer) error {
			if len(list) == 0 {
				return neverRead(w, args[0], "firmware")
			}
			g := table.New("COMPONENT", "VERSION", "FIRST", "INSTALLED BY TEMPER", "READ")
			for _, f := range list {
				flashed := ""
				if f.Flashed != nil {
					flashed = *f.Flashed
				}
				g.Add(f.Component, f.Current, f.Initial, flashed, table.Age(f.At(), s.now()))
			}
			return g.Print(w)
		})
	})
	return c
}

// neverRead says that there is nothing to list.
func neverRead(w io.Writer, name, what string) error {
	_, err := fmt.Fprintf(w, "Nothing was read of the %s of node %s yet, or its BMC shows none.\n", what, name)
	return err
}
