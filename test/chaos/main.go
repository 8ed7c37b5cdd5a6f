// Command chaos kills real processes of Temper at every step boundary of every operation and in the middle of every step,
// and compares the result with that of an operation to which nothing happens.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.temper, "temper", "bin/chaos/temper", "the program, built with the tag chaos")
	only := flag.String("rows", "", "only rows whose names hold one of these, separated by commas")
	some := flag.String("kinds", "", "only these kinds of operation")
	flag.IntVar(&o.most, "most", 0, "at most so many points of a kind, spread evenly; 0 = all")
	flag.IntVar(&o.atOnce, "at-once", mostAtOnce, "cases that share what happens, at the most, in rows that do not say")
	flag.BoolVar(&o.report, "report", false, "write the results of whole rows to "+resultsFile+" and "+pageFile)
	guards := flag.Bool("guards", false, "take the guards down, one at a time, all or those named as arguments, and see that it is noticed")
	page := flag.Bool("page", false, "only write the page anew from the results that are there")
	flag.Parse()
	o.rows, o.kinds = split(*only), split(*some)
	o.say = func(format string, args ...any) { fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	do := func() error { return run(ctx, o) }
	if *page {
		do = rewrite
	}
	if *guards {
		do = func() error { return withoutGuards(ctx, ".", flag.Args(), o.say) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}
