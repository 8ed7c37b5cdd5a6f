package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"go.temper.dev/temper/internal/node"
)

// Where the results are, and the page that is made of them, below the module.
const (
	resultsFile = "test/chaos/testdata/matrix.json"
	pageFile    = "docs/crash-matrix.md"
)

// results are what came of the matrix.
type results struct {
	RanOn string   `json:"ran_on"`
	Rows  []result `json:"rows"`
}

// result is a row of them.
type result struct {
	Name    string                      `json:"name"`
	Holds   string                      `json:"holds"`
	Columns map[node.OperationKind]cell `json:"columns"`
	Median  float64                     `json:"median_s,omitempty"` // seconds until somebody else is at work
	Longest float64                     `json:"longest_s,omitempty"`
	Within  float64                     `json:"within_s,omitempty"` // no case may take longer
	Took    float64                     `json:"took_s"`             // the row, with all that it needs
}

// cell is what came of a row's cases of one kind.
type cell struct {
	Cases int `json:"cases"`
	Right int `json:"right"` // as they must be
	// Late are those of the others that were as they must be, and only missed a limit of time.
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

// resultOf sums a row up.
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

// short are seconds as people read them: tenths, hundredths below one.
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

// record puts a row's result among the others, in the order of rows.
func (a *results) record(one result) {
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

// write writes the results, and the page that is made of them.
func (a *results) write(file, page string) error {
	raw, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file, append(raw, '\n'), 0o644), os.WriteFile(page, a.page(), 0o644))
}

const pageHead = `# The crash matrix

Written by ` + "`make chaos`" + ` from what it saw; nobody edits it. Real processes are stopped at named points of an operation,
and something happens to them there: at every step boundary, from both sides, and in the middle of every step, before and
after each request that changes a server. Each case asserts that its point was reached, and then that the operation ends
as it was asked to, that nobody holds the node, that the server was switched, and its agent commanded, exactly as on an
equal server to which nothing happens, and that it is left the same. The points are computed from the list of steps, and
held against those that an undisturbed operation came by.

A cell is how many cases are as they must be, of how many; a case that only missed a time limit, as may happen on a busy
machine, is counted separately, as late. The time is from what happened until somebody else was at
work on the step, or until the operation had ended where nobody goes on with it: the median, the longest, and what none
may exceed. Up to 115 cases share what happens, on one machine with all of Temper, Temporal, PostgreSQL and the rack;
all of a row that waits for a minute, 55 where ten seconds are the limit, and 6 where half a second is, so that none
waits for the others. A clock is stepped by moving all that the database remembers of when it heard of somebody. Temper
sets no time limit on a workflow; for the row of those that time out the program that is tried does. What a restart of a
server that may not be off did can't be read back: where one was about to be sent, or just was, when somebody else goes
on, it is not sent again, and the operation ends with the words that its outcome is unknown.

` + "`make chaos-guards`" + ` takes down one guard after the other (the claim check, waiting for the cancelled step, begun_at, looking
before acting, starting a workflow once) and sees this turn red; ` + "`make soak`" + ` lets processes die at random on a faulty rack.
`

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
	fmt.Fprintf(&b, "\nRan on %s, in %s: %d of %d cases as they must be, %d late.\n\n", a.RanOn, (time.Duration(took) * time.Second).String(), right, cases, late)
	b.WriteString("| what happens | and what must hold |")
	for _, k := range columns {
		fmt.Fprintf(&b, " %s |", k)
	}
	b.WriteString(" elsewhere after |\n|---|---|")
	for range columns {
		b.WriteString("---|")
	}
	b.WriteString("---|\n")
	for _, r := range a.Rows {
		fmt.Fprintf(&b, "| %s | %s |", r.Name, r.Holds)
		for _, k := range columns {
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
