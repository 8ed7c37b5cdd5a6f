package main

import (
	uiserver "github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// startUI serves Temporal's web UI and returns what ends it. Resetting a workflow is switched off: the reset of a
// closed operation terminates a newer one with the same id, and Temper has its own retry.
func startUI(o options) (stop func()) {
	ui := uiserver.NewServer(server_options.WithConfigProvider(&config.Config{
		Host:                  o.ui.Addr().String(),
		Port:                  int(o.ui.Port()),
		TemporalGRPCAddress:   o.listen.String(),
		EnableUI:              true,
		DefaultNamespace:      o.namespace,
		DisableNewsFetch:      true,
		HideLogs:              true,
		WorkflowResetDisabled: true,
		CORS:                  config.CORS{CookieInsecure: true},
	}))
	go func() {
		_ = ui.Start() // ends the process itself when it cannot listen
	}()
	return ui.Stop
}
