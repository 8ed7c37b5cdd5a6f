package main

import (
	"context"
	"fmt"
	"net"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

const uiWithin = 10 * time.Second

// startUI serves Temporal's web UI until the process ends. It has no state, so it needs no stop. All its buttons are
// enabled: docs/steering.md says what each does to an operation.
func startUI(ctx context.Context, o options) error {
	ui := uiserver.NewServer(server_options.WithConfigProvider(&config.Config{
		Host:                o.ui.Addr().String(),
		Port:                int(o.ui.Port()),
		TemporalGRPCAddress: o.listen.String(),
		EnableUI:            true,
		DefaultNamespace:    o.namespace,
		DisableNewsFetch:    true,
		HideLogs:            true,
		CORS:                config.CORS{CookieInsecure: true},
	}))
	go func() {
		_ = ui.Start() // ends the process itself when it cannot listen
	}()
	ctx, cancel := context.WithTimeout(ctx, uiWithin)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.ui.String())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the web ui serves: %w", err)
		case <-tick.C:
		}
	}
}
