// Command soak sends hundreds of requests for nodes on a faulty rack while processes die at random. Then an oracle judges what
// has become of each node.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.temper, "temper", "bin/temper", "the program")
	flag.DurationVar(&o.lasts, "for", 5*time.Minute, "how long it goes on")
	flag.IntVar(&o.nodes, "nodes", 40, "how many nodes")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what the choices follow from")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o.say = func(format string, args ...any) { fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...) }
	if err := soak(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
