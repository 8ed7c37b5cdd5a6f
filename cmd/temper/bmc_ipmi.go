package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
)

// do calls with, and then prints done.
func (f *bmcFlags) do(c *cobra.Command, address, done string, do func(context.Context, bmc.Session) error) error {
	if err := f.with(c, address, do); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), done)
	return err
}

func newBMCIdentifyCommand() *cobra.Command {
	var f bmcFlags
	var seconds int
	var on, off bool
	c := f.addIPMI(&cobra.Command{
		Use: "identify ADDRESS", Short: "Switch the identification light of a server (IPMI)",
		Long:    "Switch the light by which people find a server on or off, over IPMI.",
		Example: "  temper bmc identify 10.0.0.7 --username admin --seconds 60\n  temper bmc identify 10.0.0.7 --username admin --off",
		RunE: func(c *cobra.Command, args []string) error {
			d := time.Duration(seconds) * time.Second
			switch {
			case seconds < 1 || seconds > 255:
				return exit.Usage(fmt.Errorf("--seconds is %d, want 1 to 255", seconds))
			case on:
				d = bmc.IdentifyForever
			case off:
				d = 0
			}
			words := fmt.Sprintf("the light of %s blinks for %s", args[0], d)
			switch {
			case on:
				words = fmt.Sprintf("the light of %s is on until it is switched off", args[0])
			case off:
				words = fmt.Sprintf("the light of %s is off", args[0])
			}
			return f.do(c, args[0], words, func(ctx context.Context, s bmc.Session) error { return s.Identify(ctx, d) })
		},
	})
	c.Flags().IntVar(&seconds, "seconds", 15, "how long it shines, 1 to 255")
	c.Flags().BoolVar(&on, "on", false, "until it is switched off")
	c.Flags().BoolVar(&off, "off", false, "switch it off")
	c.MarkFlagsMutuallyExclusive("seconds", "on", "off")
	return c
}

func newBMCNMICommand() *cobra.Command {
	var f bmcFlags
	return f.addIPMI(&cobra.Command{
		Use: "nmi ADDRESS", Short: "Interrupt a server, so that it writes a crash dump (IPMI)",
		Long:    "Send a non-maskable interrupt to a server over IPMI. What runs on it ends, or writes a crash dump and restarts. It is sent once.",
		Example: "  temper bmc nmi 10.0.0.7 --username admin",
		RunE: func(c *cobra.Command, args []string) error {
			return f.do(c, args[0], "an NMI was sent to the server of "+args[0], func(ctx context.Context, s bmc.Session) error { return s.InjectNMI(ctx) })
		},
	})
}

func newBMCRestartCommand() *cobra.Command {
	var f bmcFlags
	return f.addIPMI(&cobra.Command{
		Use: "restart ADDRESS", Short: "Restart a BMC, not its server (IPMI)",
		Long:    "Restart a BMC over IPMI. Its server runs on. The BMC does not answer for some minutes and forgets its sessions. It is sent once.",
		Example: "  temper bmc restart 10.0.0.7 --username admin",
		RunE: func(c *cobra.Command, args []string) error {
			return f.do(c, args[0], args[0]+" restarts, and answers again in some minutes", func(ctx context.Context, s bmc.Session) error { return s.RestartBMC(ctx, false) })
		},
	})
}
