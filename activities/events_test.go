package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// switching is a bench whose server is to be switched on, and reacts only when somebody follows its events.
func switching(t *testing.T) *bench {
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "power", Step: "on", Source: node.SourceCore, State: node.StepPending}}
	})
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, nil }
	return b
}

func TestAnEventMakesAStepThatWaitsLookAtOnce(t *testing.T) {
	t.Parallel()
	b := switching(t)
	b.steps.Settings.PowerTimeout, b.steps.Settings.PowerPoll = time.Hour, time.Hour // the test would end too late without events
	followed := make(chan struct{})
	b.machine.follow = func(ctx context.Context, happened func()) error {
		defer close(followed)
		happened() // about something else
		b.machine.mu.Lock()
		b.machine.power = bmc.PowerOn
		b.machine.mu.Unlock()
		for range 3 { // more than anybody waits for
			happened()
		}
		<-ctx.Done()
		return ctx.Err()
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, node.StepDone, b.op().Steps[0].State)
	select {
	case <-followed:
	default:
		t.Fatal("somebody still follows the events")
	}
}

func TestAnEventMakesAStepThatWaitsForAMediumLookAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.steps.Settings.MediaTimeout, b.steps.Settings.MediaPoll = time.Hour, time.Hour // the test would end too late without events
	b.machine.insert = func(string) error { return nil }                             // it is accepted, and shown later
	b.machine.follow = func(ctx context.Context, happened func()) error {
		b.machine.mu.Lock()
		b.machine.media = bmc.Media{Inserted: true, Image: agentISO}
		b.machine.mu.Unlock()
		happened()
		<-ctx.Done()
		return ctx.Err()
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{agentISO}, b.machine.images)
}

func TestAStepThatIsHandedOverDoesNotWaitUntilItsSubscriptionIsDeleted(t *testing.T) {
	t.Parallel()
	b := switching(t)
	b.steps.Settings.PowerTimeout, b.steps.Settings.PowerPoll = time.Hour, time.Hour
	ctx, stop := context.WithCancel(t.Context())
	deleting, deleted := make(chan struct{}), make(chan struct{})
	b.machine.follow = func(ctx context.Context, _ func()) error {
		defer close(deleted)
		stop()
		<-ctx.Done()
		select {
		case <-deleting:
		case <-time.After(30 * time.Second): // the step waits
			t.Error("the step was not handed over before the BMC answered")
		}
		return ctx.Err()
	}
	var s testsuite.WorkflowTestSuite
	env := s.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivity(b.steps)
	_, err := env.ExecuteActivity(b.steps.RunSteps, conductor.StepsInput{Operation: b.book.op, Node: uuid, Seq: 1})
	require.Equal(t, "handed over", kindOf(err))
	close(deleting)
	<-deleted
}

func TestEventsDoNotShortenThePauseThatABMCAsksFor(t *testing.T) {
	t.Parallel()
	const wanted = 500 * time.Millisecond
	b := switching(t)
	b.steps.Settings.PowerTimeout = time.Hour
	b.machine.follow = func(ctx context.Context, happened func()) error {
		for ctx.Err() == nil {
			happened()
		}
		return ctx.Err()
	}
	var refused time.Time
	b.machine.reads = func() error {
		switch {
		case len(b.machine.asked) == 0:
			return nil
		case refused.IsZero():
			refused = time.Now()
			return bmc.Busy(wanted, "later")
		}
		require.GreaterOrEqual(t, time.Since(refused), wanted)
		b.machine.power = bmc.PowerOn
		return nil
	}
	_, err := b.run()
	require.NoError(t, err)
	require.False(t, refused.IsZero())
}

func TestAStepWithoutEventsLooksAsOftenAsEver(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(context.Context, func()) error{
		"a BMC that has none":          nil,
		"a stream that breaks at once": func(context.Context, func()) error { return errors.New("cut off") },
		"events that lie": func(ctx context.Context, happened func()) error {
			for ctx.Err() == nil {
				happened()
			}
			return ctx.Err()
		},
		"a stream on which nothing comes": func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			b := switching(t)
			b.machine.follow = follow
			reads := 0
			b.machine.reads = func() error {
				if reads++; reads == 5 {
					b.machine.power = bmc.PowerOn
				}
				return nil
			}
			_, err := b.run()
			require.NoError(t, err)
			require.Equal(t, node.StepDone, b.op().Steps[0].State)
		})
	}
}
