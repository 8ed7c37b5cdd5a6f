package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/text"
)

// unfinished says why an operation is not followed to its end, and how to take up again.
func (w *Watcher) unfinished(ctx context.Context, t *Target) error {
	if t.ID == "" { // a request that only changes the state
		return exit.WithCode(w.code(ctx), fmt.Errorf("the request was accepted, but the node's state was not read; temper node show %s shows it", t.Name))
	}
	now, was := "", ""
	if t.Op != nil {
		state := State(t.Op)
		if s := t.Op.Current(); s != nil {
			state += " at " + s.Name() + table.Optional(" after ", table.Clause(s.LastError))
		}
		now, was = ", it is "+state, ", it was "+state+" when it was seen last"
	}
	again := fmt.Sprintf("temper operation watch %s takes up again", t.ID)
	var words string
	switch code := w.code(ctx); code {
	case exit.CodeTimeout:
		words = fmt.Sprintf("%s has not ended within %s%s; %s", t.what(), text.Duration(w.options.limit()), now, again)
	case exit.CodeLost:
		words = fmt.Sprintf("lost sight of %s: %v%s; %s", t.what(), w.sight.err, was, again)
	default:
		if w.sight.lost() {
			now = was
		}
		words = fmt.Sprintf("%s goes on%s; %s", t.what(), now, again)
		if t.Op == nil || !isEnding(t.Op) {
			words += fmt.Sprintf(", temper operation cancel %s ends it", t.ID)
		}
	}
	return exit.WithCode(w.code(ctx), errors.New(words))
}

// unseen says why something was not seen at all.
func (w *Watcher) unseen(ctx context.Context, what string) error {
	if ctx.Err() != nil {
		return exit.WithCode(exit.CodeInterrupted, fmt.Errorf("interrupted before %s was seen", what))
	}
	return exit.WithCode(exit.CodeLost, fmt.Errorf("%s was not seen within %s: %w", what, text.Duration(w.options.limit()), cmp.Or(w.sight.err, errNoAnswer)))
}

// code is the exit code for what has not ended: ctx has ended, or the time is up.
func (w *Watcher) code(ctx context.Context) int {
	switch {
	case ctx.Err() != nil:
		return exit.CodeInterrupted
	case w.sight.lost():
		return exit.CodeLost
	}
	return exit.CodeTimeout
}
