//go:build !chaos

package main

import (
	"go.temporal.io/sdk/interceptor"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/activities/orchestrator"
	"go.temper.dev/temper/api"
)

// A program that is built with the tag chaos wraps these parts of its roles, so that a test can stop it there
// (around_chaos.go). This one does not.

func wrapSteps(*conductor.Steps) {}

func wrapOperationStore(l orchestrator.OperationStore) orchestrator.OperationStore { return l }

func wrapOperations(o api.Operations) api.Operations { return o }

func temporalInterceptors() []interceptor.ClientInterceptor { return nil }
