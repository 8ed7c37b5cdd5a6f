package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/jsonvalue"
)

// auditPause is the pause between two looks of audit --follow.
const auditPause = 2 * time.Second

func newAuditCommand() *cobra.Command {
	s := newSession()
	var f client.AuditFilter
	var limit int
	var follow bool
	c := &cobra.Command{
		Use: "audit", Short: "List who asked for which change, and what came of it", Args: cobra.NoArgs,
		Long: `List who asked for which change, and what came of it, the newest first. Refused requests are in the list, too. Refused log-ins have one
row for each address and minute, with their number. WHAT has the names of the fields that a request sets, or its verb, and never values.`,
		Example: "  temper audit --node n1\n  temper audit --actor ann --since 24h --outcome refused\n  temper audit --follow -o json",
	}
	s.addFlags(c, c.Flags())
	since := addSince(c, s.now)
	until := &sinceFlag{now: s.now}
	c.Flags().Lookup("since").Usage = "only requests since then: a `TIME` such as 2026-01-02T15:04:05Z or 2026-01-02, or how long ago, such as 90m, 24h or 7d"
	c.Flags().Var(until, "until", "only requests before then, a `TIME` as for --since")
	c.Flags().StringVar(&f.Actor, "actor", "", "only requests of this `user`")
	c.Flags().StringVar(&f.Node, "node", "", "only requests about this `node`: its uuid, or its name as it was then")
	c.Flags().StringVar(&f.Rule, "rule", "", "only requests by this `rule`")
	c.Flags().StringVar(&f.Outcome, "outcome", "", "only requests with this `outcome`: accepted, refused or failed")
	c.Flags().IntVar(&limit, "limit", 50, "show at most this many")
	c.Flags().BoolVar(&follow, "follow", false, "go on, and show what is added, the newest last; with -o json, one object a line")
	completeWords(c, "outcome", "accepted", "refused", "failed")
	must(c.RegisterFlagCompletionFunc("node", s.completeNodes("", 0)))
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		f.Since, f.Until = since.Time, until.Time
		if follow {
			return s.followAudit(ctx, f, limit)
		}
		list, err := s.Audit(ctx, f, limit)
		if err != nil {
			return err
		}
		s.reportMore(list.More, limit, "requests")
		return s.show(map[string]any{"audit": orEmpty(list.Items)}, func(w io.Writer) error { return auditTable(list.Items, s.wide).Print(w) })
	})
	return c
}

func auditTable(rows []client.AuditEntry, wide bool) table.Table {
	heads := []string{"AT", "USER", "FROM", "RULE", "NODE", "WHAT", "OUTCOME"}
	if wide {
		heads = append(heads, "METHOD", "TARGET", "OPERATION", "REASON", "REQUEST")
	}
	g := table.New(heads...).Whole("AT", "OUTCOME")
	for i := range rows {
		e := &rows[i]
		cells := []string{table.Time(&e.At), e.User, e.From, e.Rule, cmp.Or(e.NodeName, e.NodeUUID), strings.Join(e.What, ","), auditOutcome(e)}
		if wide {
			cells = append(cells, e.Method, strings.TrimSpace(e.Kind+" "+e.Target), e.Operation, e.Reason, e.RequestID)
		}
		g.Add(cells...)
	}
	return g
}

// auditOutcome is the outcome with the status where that says more: "refused 401 × 12".
func auditOutcome(e *client.AuditEntry) string {
	words := e.Outcome
	if e.Status >= 400 {
		words += " " + strconv.Itoa(e.Status)
	}
	if e.Count > 1 {
		words += fmt.Sprintf(" × %d", e.Count)
	}
	return words
}

// followAudit shows the latest rows, and then each that is added. A row may become visible a little after one with a higher number, so
// that each look begins a minute before the last one.
func (s *session) followAudit(ctx context.Context, f client.AuditFilter, limit int) error {
	shown := map[string]bool{}
	for {
		list, err := s.Audit(ctx, f, limit)
		if err != nil {
			return err
		}
		slices.Reverse(list.Items)
		latest := map[string]bool{}
		for i := range list.Items {
			e := &list.Items[i]
			latest[e.ID] = true
			if shown[e.ID] {
				continue
			}
			if err := s.printAudit(e); err != nil {
				return err
			}
		}
		shown, limit = latest, client.MaxLimit
		if n := len(list.Items); n > 0 {
			f.Since = list.Items[n-1].At.Add(-time.Minute)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(auditPause):
		}
	}
}

func (s *session) printAudit(e *client.AuditEntry) error {
	line := strings.Join(slices.DeleteFunc([]string{
		table.Time(&e.At), cmp.Or(e.User, "-"), cmp.Or(e.From, "-"), e.Rule, cmp.Or(e.NodeName, e.NodeUUID), strings.Join(e.What, ","), auditOutcome(e), e.Reason,
	}, func(word string) bool { return word == "" }), "  ")
	if s.format == asJSON {
		raw, err := jsonvalue.Marshal(e)
		if err != nil {
			return err
		}
		line = string(raw)
	}
	_, err := fmt.Fprintln(s.out, line)
	return err
}
