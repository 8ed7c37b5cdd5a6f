package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// errWouldBeRefused is the error for a node on which a dry run refuses the request. The reasons are in what is shown.
var errWouldBeRefused = errors.New("the request would be refused")

// dryRun shows what would become of a request on each node. It fails if one of them would refuse it.
func (s *session) dryRun(ctx context.Context, v verb, names []string, parallel int, w client.Work) error {
	all := forEach(ctx, names, parallel, v.event, func(ctx context.Context, name string) (*client.Trial, error) {
		return s.TryWork(ctx, name, w)
	})
	err := s.show(byName(all), func(w io.Writer) error {
		if len(succeeded(all)) == 0 {
			return nil
		}
		if err := trialTable(all).Print(w); err != nil {
			return err
		}
		if err := writeMends(w, all); err != nil {
			return err
		}
		return writeWarnings(w, all)
	})
	for i := range all {
		if all[i].err == nil && !all[i].value.Accepted {
			all[i].err = errWouldBeRefused
		}
	}
	return errors.Join(err, joinFailures(all))
}

// writeMends writes what mends the reasons for which nodes refuse the request, for each node once.
func writeMends(w io.Writer, all []result[*client.Trial]) error {
	for _, r := range all {
		if r.err != nil {
			continue
		}
		lines, commands := mendsOf(r.value.Refusals)
		if commands == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\nso that %s accepts it, you can:\n%s\n", r.name, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// writeWarnings writes the doubts that refuse nothing, last, so that nobody overlooks them under the steps.
func writeWarnings(w io.Writer, all []result[*client.Trial]) error {
	lead := "\n"
	for _, r := range all {
		if r.err != nil {
			continue
		}
		for _, doubt := range r.value.Warnings {
			if _, err := fmt.Fprintf(w, "%swarning: %s: %s (%s)\n", lead, r.name, table.OneLine(doubt.Message), doubt.Code); err != nil {
				return err
			}
			lead = ""
		}
	}
	return nil
}

// mendsOf returns the commands that mend refusals, each once, and which refusals no command mends, a line each.
func mendsOf(refusals []client.Refusal) (lines []string, commands int) {
	for _, why := range refusals {
		if len(why.Help) == 0 {
			lines = append(lines, "  # no command mends this: "+strings.TrimSuffix(why.Message, "."))
		}
		for _, h := range why.Help {
			if line := "  " + h.Command + "  # " + h.Effect; !slices.Contains(lines, line) {
				lines, commands = append(lines, line), commands+1
			}
		}
	}
	return lines, commands
}

func trialTable(all []result[*client.Trial]) table.Table {
	t := table.New("NODE", "RESULT", "STEP", "EXPECTED", "REASON").Wrap("REASON")
	for _, r := range all {
		switch {
		case r.err != nil:
		case !r.value.Accepted:
			for _, why := range r.value.Refusals {
				t.Add(r.name, "refused", "", "", why.Message)
			}
		case len(r.value.Steps) == 0:
			t.Add(r.name, "accepted", "", "", "")
		default:
			for _, step := range r.value.Steps {
				t.Add(r.name, "accepted", step.Interface+"."+step.Step, expected(step.Expectation), "")
			}
		}
		if r.err == nil {
			for _, note := range r.value.Notes {
				t.Add(r.name, "note", "", "", note)
			}
		}
	}
	return t
}

// expected returns how long a step usually takes, or "" if that is not known.
func expected(e client.Expectation) string {
	if u, known := usualOf(e); known {
		return u.Words()
	}
	return ""
}

// usualOf returns an expectation as it is described everywhere, and false if it is not known.
func usualOf(e client.Expectation) (node.Usual, bool) {
	if e.ExpectedSeconds == nil {
		return node.Usual{}, false
	}
	return node.Usual{MS: int64(*e.ExpectedSeconds * 1000), Samples: e.ExpectedSamples, Basis: node.UsualBasis(e.ExpectedBasis)}, true
}
