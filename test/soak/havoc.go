package main

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"
)

// havoc kills, stops and freezes processes, one after the other, at random.
func (w *world) havoc(ctx context.Context, dice *rand.Rand) {
	for {
		rest(ctx, 3*time.Second+time.Duration(dice.IntN(12000))*time.Millisecond)
		if ctx.Err() != nil {
			return
		}
		if w.Read() != nil || len(w.Processes) == 0 {
			continue
		}
		roles := []string{"conductor", "conductor", "conductor", "conductor", "orchestrator", "api", "temporal", "postgres"}
		of := w.Of(roles[dice.IntN(len(roles))])
		if len(of) == 0 {
			continue // it has not restarted yet
		}
		p := of[dice.IntN(len(of))]
		how := dice.IntN(4)
		switch {
		case how == 0 && p.Role == "conductor":
			frozen := 2*time.Second + time.Duration(dice.IntN(15000))*time.Millisecond
			w.o.say("%s is frozen for %s", p.Name, frozen.Round(time.Second))
			_ = syscall.Kill(p.PID, syscall.SIGSTOP) // it may have ended just now
			rest(ctx, frozen)
			_ = syscall.Kill(p.PID, syscall.SIGCONT)
		case how == 1:
			w.o.say("%s is told to stop", p.Name)
			stop := syscall.SIGTERM
			if p.Role == "postgres" {
				stop = syscall.SIGINT // PostgreSQL's fast shutdown, which does not wait for its clients
			}
			_ = syscall.Kill(p.PID, stop)
		default:
			w.o.say("%s is killed", p.Name)
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}
