package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

func operation(workflow, run string) *node.Operation {
	return &node.Operation{WorkflowID: workflow, RunID: run}
}

func TestARequestUnderWayIsAnsweredBeforeTheStop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	entered, leave := make(chan struct{}), make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-leave
			w.WriteHeader(http.StatusAccepted)
		}), 10*time.Second)
	}()
	answer := make(chan int, 1)
	go func() {
		res, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answer <- 0
			return
		}
		_ = res.Body.Close()
		answer <- res.StatusCode
	}()
	<-entered
	stop()
	close(leave)
	require.Equal(t, http.StatusAccepted, <-answer)
	require.NoError(t, <-served)
}

func TestTemporalThatWasNotReachedYetIsUnavailable(t *testing.T) {
	late := &lateTemporal{}
	o := operation("w", "r")
	for name, err := range map[string]error{
		"start": late.Start(t.Context(), o), "cancel": late.Cancel(t.Context(), o, ""), "nudge": late.Nudge(t.Context(), o),
	} {
		require.True(t, fault.Is(err, fault.Unavailable), name)
	}
}

func TestReadinessNamesWhatIsMissingWithoutItsAddress(t *testing.T) {
	for what, reason := range map[string]string{
		"postgresql": "PostgreSQL does not answer, or its tables are not up to date", "temporal": "Temporal does not answer",
	} {
		err := missing(what, errors.New("dial 10.0.0.1"))
		var m *api.Missing
		require.ErrorAs(t, err, &m)
		require.Equal(t, reason, m.Reason)
		require.EqualError(t, err, "dial 10.0.0.1", "the log has it whole")
	}
}

func TestDevNeedsNoDatabase(t *testing.T) {
	usage := newDevCommand().Flags().FlagUsages()
	require.Contains(t, usage, "private cluster in the data folder")
	require.NotContains(t, usage, "(required)")
}
