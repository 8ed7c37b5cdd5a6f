package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// options select which part of the matrix is tried.
type options struct {
	temper    string
	rows      []string
	kinds     []string
	most      int
	atOnce    int
	slack     time.Duration // added to the time limits of rows, because other work runs beside it
	unguarded bool          // a guard was removed, and cases are expected to fail
	report    bool
	say       func(format string, args ...any)
	matrix    []row // nil = rows
}

// of returns the rows of the matrix that are selected.
func (o options) of() []row {
	all := o.matrix
	if all == nil {
		all = rows
	}
	var some []row
	for _, r := range all {
		if o.wants(r) {
			some = append(some, r)
		}
	}
	return some
}

// cases returns the points of a row in all selected kinds.
func (o options) cases(r row) ([]point, error) {
	var all []point
	for _, k := range kinds {
		if len(o.kinds) > 0 && !slices.Contains(o.kinds, k.name) || o.report && k.offPage {
			continue
		}
		of, err := r.points(k)
		if err != nil {
			return nil, err
		}
		all = append(all, spread(of, o.most)...)
	}
	return all, nil
}

// wholeColumns reports whether all kinds of each column are selected of which one is.
func (o options) wholeColumns() bool {
	selected := func(k kind) bool { return len(o.kinds) == 0 || slices.Contains(o.kinds, k.name) }
	for _, some := range kinds {
		for _, other := range kinds {
			if some.column == other.column && selected(some) && !selected(other) {
				return false
			}
		}
	}
	return true
}

// spread returns at most n elements of a list, evenly spread.
func spread(all []point, n int) []point {
	if n <= 0 || len(all) <= n {
		return all
	}
	var some []point
	for i := range n {
		some = append(some, all[i*len(all)/n])
	}
	return some
}

// wants reports whether a row is selected: by its whole name, or by a part of it that no row has as its name.
func (o options) wants(r row) bool {
	return len(o.rows) == 0 || slices.ContainsFunc(o.rows, func(s string) bool {
		whole := slices.ContainsFunc(rows, func(r row) bool { return r.name == s })
		return r.name == s || !whole && strings.Contains(r.name, s)
	})
}

// atOnceIn returns how many cases of a row are tried at the same time, at most.
func (o options) atOnceIn(r row) int {
	return cmp.Or(r.atOnce, o.atOnce)
}

// notAsTheyMustBe is the error of a row some of whose cases were wrong or late.
type notAsTheyMustBe struct {
	row string
	why error
}

func (n *notAsTheyMustBe) Error() string {
	if !wrong(n.why) {
		return n.row + ": only too late: " + n.why.Error()
	}
	return n.row + ": " + n.why.Error()
}

func (n *notAsTheyMustBe) Unwrap() error { return n.why }

// mostAtOnce is how many cases are tried at the same time if neither the row nor the command line says so. With more, a busy
// machine would lose heartbeats of the steps that are stopped.
const mostAtOnce = 115

// spare is the number of servers that replace discarded ones.
const spare = 30

// run tries the matrix, or a part of it.
func run(ctx context.Context, o options) (err error) {
	if o.report && (o.most > 0 || !o.wholeColumns()) {
		return errors.New("a part of a column is no result to write down")
	}
	most, total := len(kinds), 0
	for _, r := range o.of() {
		cases, err := o.cases(r)
		if err != nil {
			return err
		}
		most, total = max(most, min(len(cases), o.atOnceIn(r))), total+len(cases)
	}
	began := time.Now()
	l, err := openLab(ctx, o.temper, most+spare, o.say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(err != nil && !o.unguarded)) }()
	l.unguarded, l.slack = o.unguarded, o.slack
	if err := l.undisturbed(ctx); err != nil {
		return err
	}
	o.say("%d cases; undisturbed runs of %d kinds took %s", total, len(kinds), time.Since(began).Round(time.Second))
	return l.tryAll(ctx, o)
}

// tryAll tries the selected rows and records the result of each. A row that was interrupted has no result.
func (l *lab) tryAll(ctx context.Context, o options) error {
	var failed []error
	for _, r := range o.of() {
		began := time.Now()
		trials, err := l.try(ctx, o, r)
		if ctx.Err() != nil {
			failed = append(failed, fmt.Errorf("%s: interrupted, and not recorded: %w", r.name, context.Cause(ctx)))
			break
		}
		if err != nil {
			failed = append(failed, &notAsTheyMustBe{row: r.name, why: err})
		}
		if err := o.record(resultOf(r, trials, time.Since(began))); err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// rewrite writes the page again.
func rewrite() error {
	all, err := readResults(resultsFile)
	if err != nil {
		return err
	}
	return all.write(resultsFile, pageFile)
}

// record records a row's result if results are to be written. The columns that were not tried keep theirs.
func (o options) record(one result) error {
	if !o.report {
		return nil
	}
	all, err := readResults(resultsFile)
	if err != nil {
		return err
	}
	all.record(one, len(o.kinds) > 0)
	return all.write(resultsFile, pageFile)
}

// try tries a row in as few rounds as possible.
func (l *lab) try(ctx context.Context, o options, r row) (trials []*trial, err error) {
	cases, err := o.cases(r)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	var all []error
	for left := cases; len(left) > 0; {
		if err := l.restore(ctx); err != nil {
			l.say("servers that can't be used any more: %v", err)
		}
		most := max(1, min(o.atOnceIn(r), len(l.nodes)))
		rounds := (len(left) + most - 1) / most
		n := len(left) / rounds
		done, err := l.again(ctx, r, left[:n])
		trials, left = append(trials, done...), left[n:]
		all = append(all, err)
	}
	right, late := 0, 0
	for _, t := range trials {
		switch {
		case t.err == nil:
			right++
			continue
		case !wrong(t.err):
			late++
		}
		all = append(all, fmt.Errorf("%s (%s): %w", t.point, t.s.server, t.err))
	}
	l.say("%s: %d of %d right, and %d too late, %s; elsewhere after %s", r.name, right, len(cases), late, time.Since(began).Round(time.Second), times(trials))
	return trials, errors.Join(all...)
}

// round tries a group of cases. The error is one of the whole round; each case has its own.
func (l *lab) round(ctx context.Context, r row, cases []point) (trials []*trial, err error) {
	rd, err := l.newRound(r, cases)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rd.end()) }()
	err = rd.prepare(ctx)
	if err == nil {
		err = r.happen(ctx, rd)
	}
	if s := rd.stalled(err); s != nil {
		rd.abandon(s)
		return rd.trials, s
	}
	_ = each(rd.subjects(), func(i int, _ *subject) error { // a case has its own error
		rd.trials[i].err = l.verdict(ctx, r, rd.trials[i])
		return nil
	})
	for _, t := range rd.trials {
		if wrong(t.err) { // a case that was only late is right
			l.discard(t.s)
		}
	}
	return rd.trials, err
}

// verdict returns what is wrong with a case whose operation has ended; a *missed if it was only late.
func (l *lab) verdict(ctx context.Context, r row, t *trial) error {
	if t.id != "" {
		if _, err := l.ended(ctx, t.id); err != nil {
			return err
		}
	}
	judge := r.judge
	if judge == nil {
		judge = func(ctx context.Context, l *lab, t *trial) error { return l.judge(ctx, t) }
	}
	if err := judge(ctx, l, t); err != nil {
		return err
	}
	if r.within > 0 && t.took > r.within+l.slack {
		return &missed{fmt.Errorf("it took %s until somebody else was at work", t.took)}
	}
	return nil
}

// times returns the median and the longest time.
func times(trials []*trial) string {
	var all []time.Duration
	for _, t := range trials {
		if t.took > 0 {
			all = append(all, t.took)
		}
	}
	if len(all) == 0 {
		return "no time"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.2f s, at most %.2f s", all[len(all)/2].Seconds(), all[len(all)-1].Seconds())
}
