package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"go.temper.dev/temper/internal/audit/sink"
	"go.temper.dev/temper/internal/config"
)

// sendAudit sends the audit to the sinks of the settings until the function that it returns is called. SIGHUP has the file opened again.
func sendAudit(ctx context.Context, p *process, s sink.Store, r *config.Orchestrator, holder string) (stop func(), err error) {
	to := map[string]sink.Writer{}
	if r.AuditFile != "" {
		file := sink.NewFile(r.AuditFile)
		to["file"] = file
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		context.AfterFunc(ctx, func() { signal.Stop(hup) })
		go func() {
			for {
				select {
				case <-hup:
					file.Reopen()
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	if r.AuditSyslog != "" {
		if to["syslog"], err = sink.NewSyslog(r.AuditSyslog); err != nil {
			return nil, fmt.Errorf("audit_syslog: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for name, w := range to {
		one := &sink.Sink{Name: name, Holder: holder, Store: s, Writer: w, Log: p.log.Named("audit")}
		running.Go(func() { one.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }, nil
}
