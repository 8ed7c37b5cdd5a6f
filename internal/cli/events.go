package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// The pauses before a stream that has ended is opened again.
const (
	firstEventPause = 250 * time.Millisecond
	maxEventPause   = 5 * time.Second
)

func newEventsCommand() *cobra.Command {
	s := newSession()
	var f client.EventFilter
	var after int64
	c := &cobra.Command{
		Use: "events", Short: "Follow what happens to nodes and operations", Args: cobra.NoArgs,
		Long: `Follow what happens to nodes and operations, until Ctrl-C. If the API or the database is away, it goes on where it was as soon as
they are back. With --output json each line is an event, as the API sends it; the number to resume with is its seq. The types are in
docs/events.md. If the events after the number are not all kept any more, the command says so and goes on with what happens from now
on.`,
		Example: "  temper events --node rack1-04\n  temper events --type operation.ended,step.failed --output json\n  temper events --after 0",
	}
	c.Flags().StringVar(&f.Node, "node", "", "only events of this `node`")
	c.Flags().StringSliceVar(&f.Kinds, "kind", nil, "only events of operations of these `kinds`")
	c.Flags().StringSliceVar(&f.Operations, "operation", nil, "only events of the operations with these `ids`")
	c.Flags().StringSliceVar(&f.Causes, "cause", nil, "only events with these `causes`")
	c.Flags().StringSliceVar(&f.Types, "type", nil, "only events of these `types`; baremetal.node stands for all that begin with it")
	c.Flags().Int64Var(&after, "after", 0, "begin after the event with this `number`; 0 = with the oldest that is kept (default: with what happens from now on)")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	var kinds []string
	for _, k := range node.Kinds() {
		kinds = append(kinds, string(k))
	}
	completeWords(c, "kind", kinds...)
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		at := client.Position{Seq: after, Known: c.Flags().Changed("after")}
		return s.followEvents(ctx, f, &at)
	})
	s.addFlags(c, c.Flags())
	return c
}

// followEvents follows events until ctx ends. An API that can't be reached at the start is an error after --timeout; later
// it is waited for.
func (s *session) followEvents(ctx context.Context, f client.EventFilter, at *client.Position) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstEventPause, maxEventPause
	began, printer := s.now(), &eventPrinter{s: s}
	for away := false; ; {
		before := printer.seen
		position := *at
		err := s.Events(ctx, f, at, printer)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case client.Lasting(err), !at.Known && s.now().Sub(began) > s.timeout.Duration:
			return err
		}
		if printer.seen > before || *at != position { // it was there
			pauses.Reset()
			away = false
		}
		if !away {
			fmt.Fprintf(s.err, "temper: %v; trying again until Ctrl-C\n", err)
			away = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pauses.NextBackOff()):
		}
	}
}

// eventPrinter prints events.
type eventPrinter struct {
	s    *session
	seen int
}

// Missed is of client.EventHandler.
func (p *eventPrinter) Missed(m client.Missed) error {
	p.seen++
	_, err := fmt.Fprintf(p.s.err, "temper: the events after %d are not all kept any more: list what you need again. From here on nothing is missed. Those that are kept begin with --after %d.\n", m.After, m.Oldest-1)
	return err
}

// Event is of client.EventHandler.
func (p *eventPrinter) Event(e client.StreamEvent) error {
	p.seen++
	switch p.s.format {
	case asJSON:
		_, err := fmt.Fprintf(p.s.out, "%s\n", e.Raw)
		return err
	case asYAML:
		doc, err := yamlOf(e.Raw)
		if err != nil {
			return fmt.Errorf("write an event: %w", err)
		}
		_, err = fmt.Fprintf(p.s.out, "---\n%s", doc)
		return err
	}
	line, err := eventLine(e)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.s.out, line)
	return err
}

// eventLine is an event for people: when, about what, and what was told.
func eventLine(e client.StreamEvent) (string, error) {
	var fields map[string]any
	if err := jsonvalue.Unmarshal(e.Raw, &fields); err != nil {
		return "", errors.New("the API sent an event that is no JSON object")
	}
	about := e.NodeName
	if about == "" {
		about = e.NodeUUID
	}
	if e.Operation != "" {
		about = strings.TrimSpace(about + " " + e.Kind + " " + e.Operation)
	}
	words := []string{table.Time(&e.At), e.Type, about}
	if e.Cause != "" {
		words = append(words, "cause="+e.Cause)
	}
	common := []string{"seq", "at", "type", "node_uuid", "node_name", "operation", "kind", "cause", "state", "index"}
	names := []string{}
	for name := range fields {
		if !slices.Contains(common, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		words = append(words, fmt.Sprintf("%s=%s", name, fieldText(fields[name])))
	}
	return table.OneLine(strings.Join(words, "  ")), nil
}

// fieldText is a value of an event for people.
func fieldText(v any) string {
	if list, ok := v.([]any); ok {
		var words []string
		for _, w := range list {
			words = append(words, fmt.Sprint(w))
		}
		return strings.Join(words, ",")
	}
	return fmt.Sprint(v)
}
