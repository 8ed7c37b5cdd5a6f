package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/status"
	"go.temper.dev/temper/worker"
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

// Requests are answered while Temporal was never reached: at once where nobody listens, else within their deadline.
func TestTemporalThatWasNotReachedYetIsUnavailable(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections and never says anything
	require.NoError(t, err)
	defer mute.Close()
	for name, c := range map[string]struct {
		at       string
		deadline time.Duration
	}{
		"nobody listens": {"127.0.0.1:1", time.Hour},
		"nobody answers": {mute.Addr().String(), 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			temporal, err := worker.NewLazyClient(worker.Temporal{Address: c.at, Namespace: "temper"}, zap.NewNop())
			require.NoError(t, err)
			defer temporal.Close()
			var s api.Operations = worker.Starter{Client: temporal, Namespace: "temper"}
			o := operation("w", "r")
			for what, call := range map[string]func(context.Context) error{
				"start":     func(ctx context.Context) error { return s.Start(ctx, o) },
				"cancel":    func(ctx context.Context) error { return s.Cancel(ctx, o, "") },
				"nudge":     func(ctx context.Context) error { return s.Nudge(ctx, o) },
				"decide":    func(ctx context.Context) error { return s.Decide(ctx, o, node.ActionRetry, "", "") },
				"status":    func(ctx context.Context) error { _, err := s.Status(ctx, o); return err },
				"terminate": func(ctx context.Context) error { return s.Terminate(ctx, o, "") },
				"unpause":   func(ctx context.Context) error { return s.Unpause(ctx, o, "", "") },
				"reconcile": new(lateSchedule).Trigger,
			} {
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				err := call(ctx)
				require.True(t, fault.Is(err, fault.Unavailable), "%s: %v", what, err)
				if c.deadline == time.Hour {
					require.NotContains(t, err.Error(), "deadline", what)
				}
				cancel()
			}
		})
	}
}

func TestReadinessNamesWhatIsMissingWithoutItsAddress(t *testing.T) {
	away := fault.Coded(fault.DatabaseUnavailable, "dial 10.0.0.1")
	for reason, a := range map[string]status.Answer{
		"PostgreSQL does not answer": {Trouble: troubleOf("postgresql", away), Err: away},
		"PostgreSQL answers, but its tables are not those of this version of Temper": {Trouble: troubleOf("postgresql", fault.New(fault.Unavailable, "schema 1")), Err: away},
		"Temporal does not answer": {Trouble: troubleOf("temporal", away), Err: away},
	} {
		err := missing("it", a)
		var m *api.Missing
		require.ErrorAs(t, err, &m)
		require.Equal(t, reason, m.Reason)
		require.EqualError(t, err, "it: dial 10.0.0.1", "the log has it whole")
	}
	require.NoError(t, missing("it", status.Answer{}))
}

func TestDevNeedsNoDatabase(t *testing.T) {
	usage := newDevCommand().Flags().FlagUsages()
	require.Contains(t, usage, "private cluster in the data folder")
	require.NotContains(t, usage, "(required)")
}
