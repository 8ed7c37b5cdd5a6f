package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/store"
)

// took makes an operation on the node that has ended, with one step that took so long.
func took(t *testing.T, s *store.Store, uuid string, step node.Step, long time.Duration) {
	t.Helper()
	ctx := t.Context()
	began := time.Now().UTC().Add(-long)
	ended := began.Add(long)
	step.Interface, step.State, step.Source, step.StartedAt, step.EndedAt = "deploy", node.StepDone, node.SourceDriver, &began, &ended
	if step.Attempts == 0 {
		step.Attempts = 1
	}
	o, err := s.Request(ctx, uuid, func(*node.Node) (*node.Request, error) {
		return &node.Request{Open: &node.Operation{Kind: node.KindPower, Steps: []node.Step{step}}, Apply: func(*node.Node) {}}, nil
	})
	require.NoError(t, err)
	_, err = s.CloseOperation(ctx, node.End{Operation: o.ID, Outcome: node.Succeeded})
	require.NoError(t, err)
}

func of(t *testing.T, s *store.Store, uuid string) map[string]node.Usual {
	t.Helper()
	n, err := s.Node(t.Context(), uuid)
	require.NoError(t, err)
	u, err := s.UsualTimes(t.Context(), n)
	require.NoError(t, err)
	return u
}

func learn(t *testing.T, s *store.Store, operations int) {
	t.Helper()
	learned, _, err := s.LearnTimes(t.Context())
	require.NoError(t, err)
	require.Equal(t, operations, learned)
}

// server makes a node of a model with an image in its instance_info.
func server(t *testing.T, s *store.Store, model, image string) string {
	t.Helper()
	n := create(t, s, node.Available)
	_, err := s.UpdateNode(t.Context(), n.UUID, "", func(n *node.Node) (node.Secrets, error) {
		n.Properties = map[string]any{"vendor": "Maker", "model": model}
		n.InstanceInfo = map[string]any{"image_source": image}
		return nil, nil
	})
	require.NoError(t, err)
	return n.UUID
}

func TestUsualTimesFallBackWhereTheSamplesAreFew(t *testing.T) {
	t.Parallel()
	s := open(t)
	big, small := server(t, s, "big", "http://i/a?sig=1"), server(t, s, "small", "http://i/a?sig=2")
	write := node.Step{Step: node.StepWriteImage}
	require.Empty(t, of(t, s, big))

	took(t, s, small, write, time.Minute)
	learn(t, s, 1)
	learn(t, s, 0)
	require.Equal(t, map[string]node.Usual{"deploy.write_image": {MS: 60_000, Samples: 1, Basis: node.UsualOfStep}}, of(t, s, big))

	for i := range node.EnoughSamples {
		took(t, s, big, write, time.Duration(i+1)*time.Second)
	}
	learn(t, s, node.EnoughSamples)
	require.Equal(t, node.Usual{MS: 10_000, Samples: node.EnoughSamples, Basis: node.UsualOfImage}, of(t, s, big)["deploy.write_image"])
	require.Equal(t, node.Usual{MS: 60_000, Samples: node.EnoughSamples + 1, Basis: node.UsualOfStep}, of(t, s, small)["deploy.write_image"])
	require.Equal(t, node.UsualOfModel, of(t, s, server(t, s, "big", "http://i/b"))["deploy.write_image"].Basis)

	for range 2 * node.SamplesKept {
		took(t, s, big, node.Step{Step: node.StepDeploy}, time.Second)
	}
	learn(t, s, 2*node.SamplesKept)
	require.Equal(t, node.Usual{MS: 1000, Samples: node.SamplesKept, Basis: node.UsualOfModel}, of(t, s, big)["deploy.deploy"], "of the image depends only what writes it")
	for range node.SamplesKept / 10 {
		took(t, s, big, node.Step{Step: node.StepDeploy}, time.Hour)
	}
	learn(t, s, node.SamplesKept/10)
	require.Equal(t, node.Usual{MS: 3_600_000, Samples: node.SamplesKept, Basis: node.UsualOfModel}, of(t, s, big)["deploy.deploy"], "the latest samples count")
}

func TestOnlyStepsThatRanSmoothlyAreSamples(t *testing.T) {
	t.Parallel()
	s := open(t)
	uuid := server(t, s, "big", "http://i/a")
	for _, step := range []node.Step{
		{Step: "again", Attempts: 2},
		{Step: "failed", Failures: 1},
		{Step: "restarted", Restarts: 1},
		{Step: "late", PutOffs: 1},
		{Step: "noted", Note: "done by operation 12"},
		{Step: node.StepHold},
	} {
		took(t, s, uuid, step, time.Minute)
	}
	learn(t, s, 6)
	require.Empty(t, of(t, s, uuid))
}

// What is stored is bounded, however many steps agents name.
func TestTheNumberOfUsualTimesIsBounded(t *testing.T) {
	t.Parallel()
	s, url := openURL(t)
	raw(t, url, `INSERT INTO step_times (model, image, step, took_ms, samples, usual_ms, ended_at)
		SELECT 'm', CASE WHEN i % 2 = 0 THEN 'x' ELSE '' END, i::text, '{1}', 1, 1, now() - i * interval '1 second' FROM generate_series(1, 6000) i`)
	took(t, s, server(t, s, "big", "http://i/a"), node.Step{Step: "new"}, time.Second)
	learn(t, s, 1)
	require.Equal(t, int64(store.TimesKept), ask[int64](t, url, `SELECT count(*) FROM step_times`))
	require.Equal(t, int64(2), ask[int64](t, url, `SELECT count(*) FROM step_times WHERE step = 'deploy.new'`))
	require.Equal(t, int64(3000), ask[int64](t, url, `SELECT count(*) FROM step_times WHERE model = 'm' AND image = ''`), "what is specific goes first")
}

func TestReconciliationsThatLearnAtOnceCountEachOperationOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	uuid := server(t, s, "big", "http://i/a")
	const many = 20
	for range many {
		took(t, s, uuid, node.Step{Step: node.StepDeploy}, time.Second)
	}
	counted := make(chan int, 4)
	for range cap(counted) {
		go func() {
			n, _, err := s.LearnTimes(context.WithoutCancel(t.Context()))
			if err != nil {
				n = -many
			}
			counted <- n
		}()
	}
	total := 0
	for range cap(counted) {
		total += <-counted
	}
	require.Equal(t, many, total)
	require.Equal(t, many, of(t, s, uuid)["deploy.deploy"].Samples)
}

// The claim tells how long steps usually take, and the row since when the current one takes longer.
func TestAStepThatTakesUnusuallyLongIsFound(t *testing.T) {
	t.Parallel()
	s := open(t)
	uuid := server(t, s, "big", "http://i/a")
	for range node.EnoughSamples {
		took(t, s, uuid, node.Step{Step: node.StepDeploy}, time.Minute)
	}
	learn(t, s, node.EnoughSamples)
	o, err := s.Request(t.Context(), uuid, func(*node.Node) (*node.Request, error) {
		return &node.Request{Open: &node.Operation{Kind: node.KindPower, Steps: []node.Step{{Interface: "deploy", Step: node.StepDeploy}}}, Apply: func(*node.Node) {}}, nil
	})
	require.NoError(t, err)
	_, err = s.Begin(t.Context(), o.ID, o.WorkflowID, "r1")
	require.NoError(t, err)
	c := node.Claim{Seq: 1, Attempt: 1}
	n, err := s.Claim(t.Context(), o.ID, "r1", c, time.Time{}, "c1")
	require.NoError(t, err)
	op := n.Operation
	op.Expect(&op.Steps[0], time.Now())
	require.Equal(t, &node.Usual{MS: 60_000, Samples: node.EnoughSamples, Basis: node.UsualOfModel}, op.Steps[0].Usual)
	require.InDelta(t, 100, time.Until(*op.UsualUntil).Seconds(), 5)

	late := func() bool {
		o, err := s.Operation(t.Context(), o.ID)
		require.NoError(t, err)
		found, err := s.Attention(t.Context(), node.AttentionFilter{Reason: node.ReasonLate, Nodes: []string{uuid}})
		require.NoError(t, err)
		require.Equal(t, o.PastUsual(time.Now()), len(found) > 0)
		return len(found) > 0
	}
	save := func(until time.Time) {
		_, err := s.SaveSteps(t.Context(), o.ID, c, node.Progress{Steps: op.Steps, UsualUntil: &until, Phase: node.Running})
		require.NoError(t, err)
	}
	save(*op.UsualUntil)
	require.False(t, late())
	for _, by := range []time.Duration{-time.Minute, time.Minute} { // it gets no further, whatever the usual time is
		at := time.Now().Add(by)
		_, err = s.TellWait(t.Context(), o, c, &node.Wait{For: node.WaitCommand, Since: at, LateAt: &at, LateCause: fault.ImageServerSlow})
		require.NoError(t, err)
		require.Equal(t, by < 0, late())
		found, err := s.Attention(t.Context(), node.AttentionFilter{Reason: node.ReasonLate, Nodes: []string{uuid}})
		require.NoError(t, err)
		if by < 0 {
			require.Equal(t, fault.ImageServerSlow, found[0].Cause)
			require.WithinDuration(t, at, *found[0].Since, time.Millisecond)
		} else {
			require.Empty(t, found)
		}
	}
	save(time.Now().Add(-time.Minute))
	require.True(t, late())

	within := time.Hour
	_, err = s.Block(t.Context(), o.ID, "r1", 0, node.BlockedNoConductor, "a conductor", &within)
	require.NoError(t, err)
	require.False(t, late(), "time in which it can't go on does not count")
	_, err = s.Block(t.Context(), o.ID, "r1", 0, node.NotBlocked, "", nil)
	require.NoError(t, err)
	require.True(t, late())
	_, err = s.CloseOperation(t.Context(), node.End{Operation: o.ID, RunID: "r1", Outcome: node.Failed, Error: "x"})
	require.NoError(t, err)
	require.False(t, late())
}
