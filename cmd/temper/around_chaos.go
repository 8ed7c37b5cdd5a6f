//go:build chaos

package main

import (
	"go.temporal.io/sdk/interceptor"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/chaos/wrap"
)

func wrapSteps(s *conductor.Steps) {
	s.Records, s.Drivers, s.OpenAgent = wrap.Records(s.Records), wrap.Drivers(s.Drivers), wrap.Agents(s.OpenAgent)
}

func wrapLedger(l orchestrator.Ledger) orchestrator.Ledger { return wrap.Ledger(l) }

func wrapOperations(o api.Operations) api.Operations { return wrap.Operations(o) }

func temporalInterceptors() []interceptor.ClientInterceptor {
	return []interceptor.ClientInterceptor{wrap.Interceptor()}
}
