package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/text"
)

func newBMCEventsCommand() *cobra.Command {
	var f bmcFlags
	limit, asJSON := 0, false
	c := f.addIPMI(&cobra.Command{
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
				return printEvents(c, events.List, asJSON)
			})
		},
	})
	c.Flags().IntVar(&limit, "limit", 100, "how many entries to show")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printedEvent is the JSON of an event.
type printedEvent struct {
	ID       string     `json:"id"`
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
		lines.Add(e.ID, at, e.Sensor, what)
	}
	if asJSON {
		out := json.NewEncoder(c.OutOrStdout())
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"events": printed})
	}
	return lines.Print(c.OutOrStdout())
}
