package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.temper.dev/temper/internal/node"
)

// The files of the results and of the page that is made from them, in the module.
const (
	resultsFile = "test/chaos/testdata/matrix.json"
	pageFile    = "docs/crash-matrix.md"
)

// results are the results of the matrix.
type results struct {
	RanOn string   `json:"ran_on"`
	Rows  []result `json:"rows"`
}

// result is the result of a row.
type result struct {
	Name    string                      `json:"name"`
	Holds   string                      `json:"holds"`
	Columns map[node.OperationKind]cell `json:"columns"`
	Median  float64                     `json:"median_s,omitempty"` // seconds until another process works on the step
	Longest float64                     `json:"longest_s,omitempty"`
	Within  float64                     `json:"within_s,omitempty"` // no case may take longer
	Took    float64                     `json:"took_s"`             // seconds for the whole row
}

// cell is the result of a row's cases of one kind of operation.
type cell struct {
	Cases int `json:"cases"`
	Right int `json:"right"`
	// Late is how many of the others were right except for a missed time limit.
	Late int `json:"late,omitempty"`
}

func (c cell) String() string {
	if c.Late > 0 {
		return fmt.Sprintf("%d of %d, %d late", c.Right, c.Cases, c.Late)
	}
	return fmt.Sprintf("%d of %d", c.Right, c.Cases)
}

func machine() string {
	return fmt.Sprintf("%s/%s with %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// resultOf summarizes a row.
func resultOf(r row, trials []*trial, took time.Duration) result {
	out := result{Name: r.name, Holds: r.holds, Columns: map[node.OperationKind]cell{}, Took: round1(took)}
	var all []time.Duration
	for _, t := range trials {
		c := out.Columns[t.k.column]
		c.Cases++
		switch {
		case t.err == nil:
			c.Right++
		case !wrong(t.err):
			c.Late++
		}
		out.Columns[t.k.column] = c
		if t.took > 0 {
			all = append(all, t.took)
		}
	}
	if len(all) > 0 {
		slices.Sort(all)
		out.Median, out.Longest, out.Within = round1(all[len(all)/2]), round1(all[len(all)-1]), round1(r.within)
	}
	return out
}

func round1(d time.Duration) float64 {
	return float64(d.Round(10*time.Millisecond)) / float64(time.Second)
}

// short formats seconds with one digit after the point, two below one second.
func short(s float64) string {
	if s < 1 {
		return fmt.Sprintf("%.2f", s)
	}
	return fmt.Sprintf("%.1f", s)
}

func readResults(file string) (results, error) {
	var all results
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	return all, json.Unmarshal(raw, &all)
}

// withOld returns the result of a row of which some columns were tried anew. The median is the old one.
func (r result) withOld(old result) result {
	columns := maps.Clone(old.Columns)
	maps.Copy(columns, r.Columns)
	r.Columns, r.Median, r.Longest, r.Within = columns, cmp.Or(old.Median, r.Median), max(old.Longest, r.Longest), cmp.Or(old.Within, r.Within)
	r.Took = round1(time.Duration((old.Took + r.Took) * float64(time.Second)))
	return r
}

// record adds a row's result to the others, in the order of rows. If it is of some columns only, the others keep theirs.
func (a *results) record(one result, some bool) {
	if i := slices.IndexFunc(a.Rows, func(old result) bool { return old.Name == one.Name }); some && i >= 0 {
		one = one.withOld(a.Rows[i])
	}
	a.RanOn = machine()
	var kept []result
	for _, r := range rows {
		if r.name == one.Name {
			kept = append(kept, one)
			continue
		}
		if i := slices.IndexFunc(a.Rows, func(old result) bool { return old.Name == r.name }); i >= 0 {
			kept = append(kept, a.Rows[i])
		}
	}
	a.Rows = kept
}

// write writes the results and the page that is made from them.
func (a *results) write(file, page string) error {
	raw, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file, append(raw, '\n'), 0o644), os.WriteFile(page, a.page(), 0o644))
}

const pageHead = `# The crash matrix

Written by ` + "`make chaos`" + ` from its results; nobody edits it. The test stops real processes at named points of an operation and
then does something to them: at every step boundary, on both sides of it, and in the middle of every step, before and after
each request that changes a server. Each case checks that its point was reached, that the operation then ended as requested,
that nothing holds the node, that the server received the same power requests and agent commands as an equal server to which
nothing happened, and that it was left in the same state. The points are computed from the list of steps, and compared with
those that an undisturbed operation passes.

A cell says how many cases were right, and of how many. A case that was right but missed a time limit, as may happen on a busy
machine, is counted separately, as late. If the machine stood still for so long that Temporal gave a step to another conductor
before anything had happened to its conductor, nothing was tried, and these cases begin anew. The last column is the time from
what happened until another process worked on the step or, if nobody continues it, until the operation had ended: the median,
the longest time, and the limit. Up to 115 cases run at the same time on one machine with all of Temper, Temporal, PostgreSQL
and the rack: all cases of a row that waits for a minute, 55 if the limit is ten seconds, and 6 if it is half a second, so that
they do not slow each other down. To step the clock, the test changes all times in the database at which a process was last
heard of. Temper sets no time limit on a workflow; the program under test sets one for the row of workflows that time out. The
effect of restarting a server that must not be off, and of an NMI, can't be read back. So if one was about to be sent, or was just
sent, when another process takes over, it is not sent again, and the operation ends with an error that says that its outcome is
unknown.

` + "`make chaos-guards`" + ` removes one guard after the other (the claim check, waiting for the cancelled step, begun_at, looking
before acting, starting a workflow once) and checks that the matrix then fails; ` + "`make soak`" + ` kills processes at random on a
faulty rack.
`

// tried are the columns that were tried in all rows.
func (a *results) tried() []node.OperationKind {
	return slices.DeleteFunc(slices.Clone(columns), func(k node.OperationKind) bool {
		return !slices.ContainsFunc(a.Rows, func(r result) bool { _, ok := r.Columns[k]; return ok })
	})
}

// left are the columns that were not.
func (a *results) left() (out []string) {
	for _, k := range columns {
		if !slices.Contains(a.tried(), k) {
			out = append(out, string(k))
		}
	}
	return out
}

// page is the matrix for people.
func (a *results) page() []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	cases, right, late, took := 0, 0, 0, 0.0
	for _, r := range a.Rows {
		for _, c := range r.Columns {
			cases, right, late = cases+c.Cases, right+c.Right, late+c.Late
		}
		took += r.Took
	}
	fmt.Fprintf(&b, "\nRan on %s, in %s: %d of %d cases right, %d late.\n\n", a.RanOn, (time.Duration(took) * time.Second).String(), right, cases, late)
	if left := a.left(); len(left) > 0 {
		fmt.Fprintf(&b, "Without a column, because they ran in the two rows of `make test` only: %s.\n\n", strings.Join(left, ", "))
	}
	b.WriteString("| what happens | and what must hold |")
	tried := a.tried()
	for _, k := range tried {
		fmt.Fprintf(&b, " %s |", k)
	}
	b.WriteString(" elsewhere after |\n|---|---|")
	for range tried {
		b.WriteString("---|")
	}
	b.WriteString("---|\n")
	for _, r := range a.Rows {
		fmt.Fprintf(&b, "| %s | %s |", r.Name, r.Holds)
		for _, k := range tried {
			if c, ok := r.Columns[k]; ok {
				fmt.Fprintf(&b, " %s |", c)
			} else {
				b.WriteString(" |")
			}
		}
		if r.Longest > 0 {
			fmt.Fprintf(&b, " %s s, at most %s s", short(r.Median), short(r.Longest))
		}
		if r.Within > 0 && r.Longest > 0 {
			fmt.Fprintf(&b, " of %g s", r.Within)
		}
		b.WriteString(" |\n")
	}
	return b.Bytes()
}
