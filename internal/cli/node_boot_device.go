package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/cli/watch"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

func newNodeBootDevice(s *session) *cobra.Command {
	c := newParent("boot-device", "Show and set what nodes boot from", "  temper node boot-device show n1\n  temper node boot-device set n1 --device pxe --wait 1m")
	c.AddCommand(newBootDeviceShow(s), newBootDeviceSet(s))
	return c
}

func newBootDeviceShow(s *session) *cobra.Command {
	c := &cobra.Command{
		Use: "show NODE", Short: "Show what a node boots from, and what it can boot from", Args: cobra.ExactArgs(1),
		Long: `Show what a node boots from, and what it can boot from, as its BMC tells it now. PERSISTENT is "no" if the device is for the next boot
only. If no device is set, the firmware decides what the server boots from.`,
		Example: "  temper node boot-device show n1", ValidArgsFunction: s.completeNodes("", 1),
	}
	c.RunE = s.run(func(ctx context.Context, args []string) error {
		b, err := s.BootDevice(ctx, args[0])
		if err != nil {
			return withAdvice(err)
		}
		return s.show(b, func(w io.Writer) error {
			device, persistent := b.Device, "no"
			switch {
			case device == "":
				device, persistent = "none", ""
			case b.Persistent:
				persistent = "yes"
			}
			g := table.New("NODE", "BOOT DEVICE", "PERSISTENT", "SUPPORTED").Wrap("SUPPORTED")
			g.Add(args[0], device, persistent, strings.Join(b.Supported, ", "))
			return g.Print(w)
		})
	})
	return c
}

func newBootDeviceSet(s *session) *cobra.Command {
	var device string
	var persistent bool
	var terms client.Terms
	c := &cobra.Command{
		Use: "set NODE... --device DEVICE", Short: "Set what nodes boot from, once or from now on",
		Example: "  temper node boot-device set n1 --device pxe --wait 1m\n  temper node boot-device set n1 n2 --device disk --persistent",
	}
	c.Flags().StringVar(&device, "device", "", "`device` to boot from: "+strings.Join(node.BootDevices, ", ")+"; a server may not have all of them")
	c.Flags().BoolVar(&persistent, "persistent", false, "boot from it from now on, not only the next time")
	must(c.MarkFlagRequired("device"))
	completeWords(c, "device", node.BootDevices...)
	addPatience(c, &terms)
	v := verb{name: "boot-device set", target: client.VerbSetBootDevice, what: "set the boot device of", goal: watch.Succeed}
	return v.command(s, c, func() (client.Work, error) {
		return client.Work{Verb: v.target, BootDevice: device, Persistent: persistent, Terms: terms}, nil
	})
}

// newNodeNMI returns the command that interrupts servers.
func newNodeNMI(s *session) *cobra.Command {
	var terms client.Terms
	c := &cobra.Command{
		Use: "nmi NODE...", Short: "Interrupt the operating systems of nodes, as for a crash dump",
		Long: `Interrupt the operating systems of nodes, as for a crash dump, with a non-maskable interrupt (NMI). Most restart after that, so what
runs on the server is lost. The server must be on. An NMI is sent at most once: if nobody knows whether it arrived, the operation fails
and says so.`,
		Example: "  temper node nmi n1 --wait 1m",
	}
	addPatience(c, &terms)
	v := verb{name: "nmi", target: client.VerbInjectNMI, what: "interrupt (what runs on them is lost)", goal: watch.Succeed}
	return v.command(s, c, func() (client.Work, error) { return client.Work{Verb: v.target, Terms: terms}, nil })
}
