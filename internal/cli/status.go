package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/text"
)

func newStatusCommand() *cobra.Command {
	s := newSession()
	c := &cobra.Command{
		Use: "status", Short: "Say whether all parts of Temper work, which one is broken, and what still works", Args: cobra.NoArgs,
		Long: `Say whether all parts of Temper work, which one is broken, and what still works: the API, PostgreSQL, Temporal,
orchestrators, conductors, the last reconciliation, and the clocks. It answers within five seconds, also when one of them does not.
The exit code is 0 if all is well, else 1, so that it can be used for monitoring; the first line says what is wrong.
It also names webhooks whose deliveries fail. That does not change the exit code, because no part of Temper is broken.`,
		Example: "  temper status\n  temper status -o json",
	}
	s.addFlags(c, c.Flags())
	c.RunE = s.run(func(ctx context.Context, _ []string) error {
		st, err := s.Status(ctx)
		if stage, ok := client.StageOf(err); ok && (stage == client.Unreached || stage == client.Lost) {
			st, err = statusWithoutAPI(err), nil
		}
		if err != nil {
			return err
		}
		err = s.show(st, func(w io.Writer) error { return printStatus(w, st) })
		if err == nil && !st.OK {
			err = exit.WithCode(exit.CodeFailed, errors.New("not all is well: "+strings.Join(brokenNames(st), ", ")))
		}
		return err
	})
	return c
}

// statusWithoutAPI is the status if the API itself does not answer.
func statusWithoutAPI(err error) *client.Status {
	no := false
	return client.NewStatus(client.Part{
		Name: "api", OK: &no, Message: err.Error(), Versions: []string{},
		Works: "operations that were accepted go on if orchestrators and conductors run",
		Check: "If it is elsewhere, say so with --api or TEMPER_API_URL. Else check that \"temper api\" runs there and that this host reaches that address",
	})
}

func brokenNames(st *client.Status) (names []string) {
	for _, p := range st.Parts {
		if p.Broken() {
			names = append(names, p.Name)
		}
	}
	if names == nil {
		names = []string{"something is not known"}
	}
	return names
}

// printStatus prints what is broken and what still works first, then all parts.
func printStatus(w io.Writer, st *client.Status) error {
	out := &strings.Builder{}
	if st.OK {
		fmt.Fprintln(out, "all parts of Temper work")
	}
	for _, p := range st.Parts {
		if p.Broken() {
			fmt.Fprintf(out, "%s\n  still works: %s\n", sentenceOf(p), p.Works)
			if p.Check != "" {
				fmt.Fprintf(out, "  check: %s\n", table.OneLine(p.Check))
			}
			writeHelp(out, p.Help, "  ")
		}
	}
	writeWebhooks(out, st.Webhooks)
	fmt.Fprintln(out)
	g := table.New("PART", "STATE", "WHAT")
	var versions []string
	for _, p := range st.Parts {
		g.Add(p.Name, stateOf(p), p.Message)
		if len(p.Versions) > 0 {
			versions = append(versions, p.Name+" "+strings.Join(p.Versions, " and "))
		}
	}
	if err := g.Print(out); err != nil {
		return err
	}
	if versions != nil {
		fmt.Fprintf(out, "\nversions: %s\n", table.OneLine(strings.Join(versions, ", ")))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// writeHelp writes what somebody can do, a line for each command.
func writeHelp(out io.Writer, all []client.Help, indent string) {
	for _, h := range all {
		fmt.Fprintf(out, "%syou can: %s  # %s\n", indent, h.Command, h.Effect)
	}
}

// writeWebhooks writes which webhooks fail, since when, and what can be done.
func writeWebhooks(out io.Writer, all []client.WebhookTrouble) {
	for _, h := range all {
		since := ""
		if h.Since != nil {
			since = ", since " + text.Moment(*h.Since)
		}
		fmt.Fprintln(out, table.OneLine(h.Sentence+since))
		writeHelp(out, h.Help, "  ")
	}
}

// sentenceOf names a part, and says what is wrong with it, and since when.
func sentenceOf(p client.Part) string { return p.Name + ": " + troubleOf(p) }

// troubleOf says what is wrong with a part, and since when. Of PostgreSQL, Temporal and orchestrators that is a whole sentence.
func troubleOf(p client.Part) string {
	since := ""
	if p.Since != nil {
		since = ", since " + text.Moment(*p.Since)
	}
	return p.Message + since
}

func stateOf(p client.Part) string {
	switch {
	case p.OK == nil:
		return "unknown"
	case *p.OK:
		return "ok"
	}
	return "BROKEN"
}

// concerned are the parts of Temper that can have caused an error of that code; of any other code, each part can.
var concerned = map[fault.Code][]string{
	fault.DatabaseUnavailable: {client.PartPostgreSQL},
	fault.RequestInDoubt:      {client.PartPostgreSQL},
	fault.TemporalUnavailable: client.PartsOfProgress,
	fault.DecisionUnconfirmed: client.PartsOfProgress,
}

// withBrokenParts adds to an error that some part of Temper may have caused which part is broken, and what still works. It asks the API
// once, unless late knows: then it adds only what late has not told.
func (s *session) withBrokenParts(ctx context.Context, late *delay, err error) error {
	stage, ok := client.StageOf(err)
	code := client.CodeOf(err)
	missing := stage == client.Lost || code == fault.DatabaseUnavailable || code == fault.RequestInDoubt || code == fault.TemporalUnavailable || code == fault.DecisionUnconfirmed || code == fault.ServiceUnavailable || code == fault.NoAnswerInTime
	if !ok || !missing || ctx.Err() != nil {
		return err
	}
	broken, told := late.told()
	to := concerned[code]
	if !told {
		st, failed := s.Status(ctx)
		if failed != nil {
			return err
		}
		broken = slices.DeleteFunc(st.Parts, func(p client.Part) bool { return !p.Broken() })
	}
	var lines []string
	for _, p := range broken {
		if to != nil && !slices.Contains(to, p.Name) {
			continue
		}
		what := p.Name + ":"
		if !told {
			what = sentenceOf(p) + ";"
		}
		lines = append(lines, fmt.Sprintf("%s still works: %s%s", what, p.Works, table.Optional("; check: ", p.Check)))
	}
	if lines == nil {
		return err
	}
	return &brokenError{err, lines}
}

// brokenError is an error with the parts of Temper that are broken.
type brokenError struct {
	err   error
	lines []string
}

func (e *brokenError) Error() string { return e.err.Error() + "\n  " + strings.Join(e.lines, "\n  ") }

func (e *brokenError) Unwrap() error { return e.err }
