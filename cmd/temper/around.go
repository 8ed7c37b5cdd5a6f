//go:build !chaos

package main

import (
	"go.temporal.io/sdk/interceptor"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/api"
)

// A program that is built with the tag chaos has wrappers around the parts of its roles, at which a test can stop it
// (around_chaos.go). This one has none.

func wrapSteps(*conductor.Steps) {}

func wrapOperationStore(l orchestrator.OperationStore) orchestrator.OperationStore { return l }

func wrapOperations(o api.Operations) api.Operations { return o }

func temporalInterceptors() []interceptor.ClientInterceptor { return nil }
