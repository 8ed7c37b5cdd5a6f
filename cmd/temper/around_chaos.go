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
	s.Store, s.Drivers, s.OpenAgent = wrap.ConductorStore(s.Store), wrap.Drivers(s.Drivers), wrap.Agents(s.OpenAgent)
}

func wrapOperationStore(l orchestrator.OperationStore) orchestrator.OperationStore {
	return wrap.OrchestratorStore(l)
}

func wrapOperations(o api.Operations) api.Operations { return wrap.Operations(o) }

func temporalInterceptors() []interceptor.ClientInterceptor {
	return []interceptor.ClientInterceptor{wrap.Interceptor()}
}
