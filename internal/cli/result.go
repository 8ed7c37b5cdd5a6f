package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/node"
)

// deleteEach deletes what the arguments name.
func (s *session) deleteEach(ctx context.Context, args []string, del func(ctx context.Context, name string) error) error {
	names := unique(args)
	return s.report(names, forEach(ctx, names, defaultParallel, "", func(ctx context.Context, name string) (string, error) {
		return "deleted", del(ctx, name)
	}))
}

func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// result is what came of one of several names.
type result[T any] struct {
	name  string
	value T
	err   error
}

// The errors of names for which nothing is known when a command is interrupted.
var (
	errNotAsked    = exit.WithCode(exit.CodeInterrupted, errors.New("interrupted before it was asked for"))
	errNotAnswered = exit.WithCode(exit.CodeInterrupted, errors.New("interrupted before the answer came; what was asked for may be done all the same"))
)

// forEach calls do for all names, at most parallel at a time. One that fails does not stop the others. The results are in the
// order of the names. Errors get advice about e.
func forEach[T any](ctx context.Context, names []string, parallel int, e node.Event, do func(ctx context.Context, name string) (T, error)) []result[T] {
	all := make([]result[T], len(names))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, name := range names {
		g.Go(func() error {
			all[i].name = name
			if ctx.Err() != nil {
				all[i].err = errNotAsked
				return nil
			}
			v, err := do(ctx, name)
			if errors.Is(err, context.Canceled) {
				err = errNotAnswered
			}
			all[i].value, all[i].err = v, withAdviceFor(err, e)
			return nil
		})
	}
	_ = g.Wait() // the errors are in all
	return all
}

// succeeded returns the values of those that did not fail.
func succeeded[T any](all []result[T]) []T {
	var out []T
	for _, d := range all {
		if d.err == nil {
			out = append(out, d.value)
		}
	}
	return out
}

// byName returns what the names that did not fail gave, as a document: by name, or alone if there was one name only.
func byName[T any](all []result[T]) any {
	doc := map[string]T{}
	for _, r := range all {
		if r.err != nil {
			continue
		}
		if len(all) == 1 {
			return r.value
		}
		doc[r.name] = r.value
	}
	return doc
}

// failures are the results that failed.
type failures struct {
	of   int
	list []result[struct{}]
}

// joinFailures returns the failures as one error, or nil if there are none.
func joinFailures[T any](all []result[T]) error {
	f := &failures{of: len(all)}
	for _, d := range all {
		if d.err != nil {
			f.list = append(f.list, result[struct{}]{name: d.name, err: d.err})
		}
	}
	if len(f.list) == 0 {
		return nil
	}
	return &advisedError{err: f}
}

// Error is one sentence for one name. For several it says how many came to which end, and has a line for each error, with all names
// that it is of.
func (f *failures) Error() string {
	if f.of == 1 {
		name, trouble := f.list[0].name, f.list[0].err.Error()
		if strings.HasPrefix(trouble, "operation "+name+" ") || strings.HasPrefix(name, "operation ") && strings.Contains(trouble, name) {
			return trouble
		}
		return name + ": " + trouble
	}
	var troubles []string
	names := map[string][]string{}
	for _, d := range f.list {
		trouble := d.err.Error()
		if names[trouble] == nil {
			troubles = append(troubles, trouble)
		}
		names[trouble] = append(names[trouble], d.name)
	}
	lines := []string{f.headline()}
	for _, t := range troubles {
		lines = append(lines, "  "+strings.Join(names[t], ", ")+": "+t)
	}
	return strings.Join(lines, "\n")
}

// ends are the words for what became of a name whose error is not that it failed, by the error's exit code.
var ends = map[int]string{exit.CodeHeld: "held", exit.CodeLost: "out of sight", exit.CodeTimeout: "still running", exit.CodeInterrupted: "still running"}

// end says in a word or two what became of a name that has this error.
func end(err error) string {
	switch {
	case errors.Is(err, errNotAsked), errors.Is(err, errModelFailed):
		return "not asked for"
	case errors.Is(err, errNotAnswered):
		return "without an answer"
	}
	return cmp.Or(ends[exit.Code(err)], "failed")
}

// headline says how many names came to which end.
func (f *failures) headline() string {
	counts := map[string]int{"done": f.of - len(f.list)}
	for _, d := range f.list {
		counts[end(d.err)]++
	}
	if counts["failed"] == len(f.list) {
		return fmt.Sprintf("%d of %d failed:", len(f.list), f.of)
	}
	var words []string
	for _, one := range []string{"done", "failed", "held", "still running", "out of sight", "without an answer", "not asked for"} {
		if n := counts[one]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, one))
		}
	}
	return fmt.Sprintf("of %d: %s:", f.of, strings.Join(words, "; "))
}

// Unwrap returns the causes.
func (f *failures) Unwrap() []error {
	var out []error
	for _, d := range f.list {
		out = append(out, d.err)
	}
	return out
}

// report shows what was done to each name; in JSON and YAML it is an object by name.
func (s *session) report(names []string, all []result[string]) error {
	done := map[string]string{}
	for _, d := range all {
		if d.err == nil {
			done[d.name] = d.value
		}
	}
	return errors.Join(s.show(done, func(w io.Writer) error {
		for _, name := range names {
			if word, ok := done[name]; ok {
				if _, err := fmt.Fprintf(w, "%s: %s\n", table.OneLine(name), word); err != nil {
					return err
				}
			}
		}
		return nil
	}), joinFailures(all))
}
