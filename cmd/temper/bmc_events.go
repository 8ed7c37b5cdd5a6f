package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/text"
)

// eventFlags are the flags of "temper bmc events".
type eventFlags struct {
	bmcFlags
	limit         int
	clear, asJSON bool
}

func newBMCEventsCommand() *cobra.Command {
	var f eventFlags
	c := f.add(&cobra.Command{
		Use: "events ADDRESS", Short: "Show the event logs of a BMC, and clear them",
		Long: `Show the newest entries of a BMC's event logs, the oldest of them first: over Redfish those of the system and of its
managers, over IPMI (--ipmi) the system event log. Without --clear it reads only. With --clear all entries are removed after
they were shown, also those that --limit leaves out. Nothing is removed if a log could not be read in full.`,
		Example: "  temper bmc events 10.0.0.7 --username admin --limit 20\n  temper bmc events 10.0.0.7 --ipmi --username admin --clear",
		RunE:    func(c *cobra.Command, args []string) error { return runEvents(c, args[0], f) },
	})
	c.Flags().IntVar(&f.limit, "limit", 100, "how many entries to show")
	c.Flags().BoolVar(&f.clear, "clear", false, "remove all entries from the logs")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func runEvents(c *cobra.Command, address string, f eventFlags) error {
	if f.limit < 1 {
		return exit.Usage(fmt.Errorf("--limit is %d: it must be above 0", f.limit))
	}
	return f.with(c, address, func(ctx context.Context, s bmc.Session) error {
		events, err := s.Events(ctx, f.limit)
		if err != nil {
			return err
		}
		if err := printEvents(c, events, f.asJSON); err != nil {
			return err
		}
		for _, what := range events.Incomplete {
			fmt.Fprintln(c.ErrOrStderr(), "temper: "+what)
		}
		if !f.clear {
			return nil
		}
		if len(events.Incomplete) > 0 {
			return errors.New("nothing was cleared, because not all entries could be read")
		}
		cleared, err := s.ClearEvents(ctx)
		if len(cleared) > 0 {
			fmt.Fprintln(c.ErrOrStderr(), "temper: cleared "+strings.Join(cleared, ", "))
		}
		return err
	})
}

// printedEvent is the JSON of an event.
type printedEvent struct {
	Log      string     `json:"log"`
	ID       string     `json:"id"`
	At       *time.Time `json:"at"` // null if the BMC did not know the time
	Severity string     `json:"severity"`
	Sensor   string     `json:"sensor"`
	Event    string     `json:"event"`
	Asserted bool       `json:"asserted"`
}

func printEvents(c *cobra.Command, events bmc.Events, asJSON bool) error {
	printed := make([]printedEvent, len(events.List))
	lines := table.New("LOG", "ID", "TIME", "SEVERITY", "SENSOR", "EVENT").Wrap("EVENT")
	for i, e := range events.List {
		printed[i] = printedEvent{Log: e.Log, ID: e.ID, Severity: e.Severity, Sensor: e.Sensor, Event: e.Text, Asserted: e.Asserted}
		at, what := "-", e.Text
		if !e.At.IsZero() {
			printed[i].At, at = &e.At, text.Moment(e.At)
		}
		if !e.Asserted {
			what += " (ended)"
		}
		lines.Add(e.Log, e.ID, at, e.Severity, e.Sensor, what)
	}
	if asJSON {
		out := json.NewEncoder(c.OutOrStdout())
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"events": printed, "incomplete": append([]string{}, events.Incomplete...)})
	}
	return lines.Print(c.OutOrStdout())
}
