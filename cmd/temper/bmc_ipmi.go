package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/text"
)

// ipmiFlags say how a BMC is reached over IPMI.
type ipmiFlags struct {
	username, passwordFile string
	port                   int
	info                   []string
	timeout                time.Duration
}

// howPasswordIsRead is a part of the help of every command over IPMI.
const howPasswordIsRead = "\n\nThe password is read from --password-file, from " + passwordVariable + ", or from the terminal."

func (f *ipmiFlags) add(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ExactArgs(1)
	c.Long += howPasswordIsRead
	c.Flags().StringVar(&f.username, "username", "", "user of the BMC")
	c.Flags().StringVar(&f.passwordFile, "password-file", "", "file with the password; - is standard input")
	c.Flags().IntVar(&f.port, "port", 623, "UDP port of the BMC")
	c.Flags().StringArrayVar(&f.info, "driver-info", nil, "NAME=VALUE: further properties of the driver ipmi (temper driver show ipmi)")
	c.Flags().DurationVar(&f.timeout, "timeout", 10*time.Second, "how long the BMC may take for one answer")
	return c
}

// with calls do with a session with the BMC.
func (f *ipmiFlags) with(c *cobra.Command, address string, do func(context.Context, bmc.Session) error) error {
	if f.timeout <= 0 {
		return exit.Usage(fmt.Errorf("--timeout is %s: it must be above 0, such as 10s", f.timeout))
	}
	info := map[string]any{"ipmi_address": address, "ipmi_port": f.port}
	for _, pair := range f.info {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return exit.Usage(errors.New("--driver-info wants NAME=VALUE")) // it may be a password, so it is not repeated
		}
		info[name] = value
	}
	if f.username != "" {
		password, err := readPassword(f.username, f.passwordFile, c.ErrOrStderr())
		if err != nil {
			return err
		}
		info["ipmi_username"], info["ipmi_password"] = f.username, password
	}
	d := ipmi.New(ipmi.Config{Settings: bmc.Settings{RequestTimeout: f.timeout, Reach: dial.Reach{Loopback: true, Allow: everywhere}}})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), logoutTimeout)
		defer cancel()
		d.Close(ctx)
	}()
	s, err := d.Open(c.Context(), bmc.Target{Node: "the BMC", Info: info})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(c.Context(), s)
}

func newBMCEventsCommand() *cobra.Command {
	var f ipmiFlags
	limit, asJSON := 0, false
	c := f.add(&cobra.Command{
		Use: "events ADDRESS", Short: "Show the event log of a BMC (IPMI)",
		Long:    "Show the newest entries of a BMC's event log over IPMI, oldest first. It reads only.",
		Example: "  temper bmc events 10.0.0.7 --username admin --limit 20",
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return exit.Usage(fmt.Errorf("--limit is %d: it must be above 0", limit))
			}
			return f.with(c, args[0], func(ctx context.Context, s bmc.Session) error {
				events, err := s.Events(ctx, limit)
				if err != nil {
					return err
				}
				return printEvents(c, events, asJSON)
			})
		},
	})
	c.Flags().IntVar(&limit, "limit", 100, "how many entries to show")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printedEvent is the JSON of an event.
type printedEvent struct {
	ID       int        `json:"id"`
	At       *time.Time `json:"at"` // null if the BMC did not know the time
	Sensor   string     `json:"sensor"`
	Event    string     `json:"event"`
	Asserted bool       `json:"asserted"`
}

func printEvents(c *cobra.Command, events []bmc.Event, asJSON bool) error {
	printed := make([]printedEvent, len(events))
	lines := table.New("ID", "TIME", "SENSOR", "EVENT").Wrap("EVENT")
	for i, e := range events {
		printed[i] = printedEvent{ID: e.ID, Sensor: e.Sensor, Event: e.Text, Asserted: e.Asserted}
		at, what := "-", e.Text
		if !e.At.IsZero() {
			printed[i].At, at = &e.At, text.Moment(e.At)
		}
		if !e.Asserted {
			what += " (ended)"
		}
		lines.Add(strconv.Itoa(e.ID), at, e.Sensor, what)
	}
	if asJSON {
		out := json.NewEncoder(c.OutOrStdout())
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"events": printed})
	}
	return lines.Print(c.OutOrStdout())
}

// do calls with, and then prints done.
func (f *ipmiFlags) do(c *cobra.Command, address, done string, do func(context.Context, bmc.Session) error) error {
	if err := f.with(c, address, do); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), done)
	return err
}

func newBMCIdentifyCommand() *cobra.Command {
	var f ipmiFlags
	var seconds int
	var on, off bool
	c := f.add(&cobra.Command{
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
	var f ipmiFlags
	return f.add(&cobra.Command{
		Use: "nmi ADDRESS", Short: "Interrupt a server, so that it writes a crash dump (IPMI)",
		Long:    "Send a non-maskable interrupt to a server over IPMI. What runs on it ends, or writes a crash dump and restarts. It is sent once.",
		Example: "  temper bmc nmi 10.0.0.7 --username admin",
		RunE: func(c *cobra.Command, args []string) error {
			return f.do(c, args[0], "an NMI was sent to the server of "+args[0], func(ctx context.Context, s bmc.Session) error { return s.InjectNMI(ctx) })
		},
	})
}

func newBMCRestartCommand() *cobra.Command {
	var f ipmiFlags
	return f.add(&cobra.Command{
		Use: "restart ADDRESS", Short: "Restart a BMC, not its server (IPMI)",
		Long:    "Restart a BMC over IPMI. Its server runs on. The BMC does not answer for some minutes and forgets its sessions. It is sent once.",
		Example: "  temper bmc restart 10.0.0.7 --username admin",
		RunE: func(c *cobra.Command, args []string) error {
			return f.do(c, args[0], args[0]+" restarts, and answers again in some minutes", func(ctx context.Context, s bmc.Session) error { return s.RestartBMC(ctx, false) })
		},
	})
}
