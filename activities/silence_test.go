package activities_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/finding"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// silence is the error of a driver whose BMC gave no answer.
func silence() error {
	return fault.CodedAs(fault.Unreachable, fault.BMCSilent, "%w", fault.NoAnswerError("no answer in time"))
}

func TestSilenceOfABMCIsWaitedForAndThenFailsTheStep(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	b.machine.reads = silence
	step := func() node.Step { return b.op().Steps[0] }
	for range 3 * conductor.StepLimit {
		_, err := b.run()
		b.change(func(n *node.Node) { n.Silence.NextAt = time.Now() })
		require.False(t, final(err), err)
		var app *temporal.ApplicationError
		require.ErrorAs(t, err, &app)
		require.LessOrEqual(t, app.NextRetryDelay(), 30*time.Second)
	}
	require.Zero(t, step().Failures)
	require.NotNil(t, step().SilentSince)
	require.Equal(t, "the BMC to answer again", b.op().WaitingFor)
	require.WithinDuration(t, step().SilentSince.Add(time.Hour+8*time.Second), *b.op().WaitingUntil, time.Microsecond, "the last try begins after an hour, and its answer is awaited")
	told := func() string {
		return waitWords(b.op().StepWait, func(at time.Time) string { return at.Sub(*step().SilentSince).String() })
	}
	const words = "the BMC has not answered since 0s (no answer in time); gives up at 1h0m8s"
	require.Equal(t, words, told())
	during := ""
	b.machine.onPowerRead = func() error { during = told(); return nil }
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, words, during, "it is told while the next attempt goes on, too")
	b.book.awaits(time.Minute)
	_, err = b.run()
	require.Error(t, err)
	require.Equal(t, words, told(), "the time does not move with the patience")
	require.Equal(t, fault.BMCSilent, b.op().LateCause(time.Now()))

	long := time.Now().Add(-2 * time.Hour)
	b.changeOp(func(o *node.Operation) { o.Steps[0].SilentSince = &long })
	_, err = b.run()
	require.True(t, final(err), "its time is over")
	require.Equal(t, node.StepFailed, step().State)
	require.NotNil(t, step().EndedAt, "people are told since when it has failed")
	require.Equal(t, fault.BMCSilent, step().Cause)
}

func TestASlowBMCIsToldAsSlow(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout, b.steps.Settings.TellEvery = time.Hour, time.Nanosecond
	var told []string
	b.machine.onPowerRead = func() error {
		if w := b.op().StepWait; w != nil {
			told = append(told, waitWords(w, func(time.Time) string { return "T" }))
		}
		return nil
	}
	b.machine.reads, b.machine.takes = silence, 9800*time.Millisecond
	_, err := b.run()
	require.Error(t, err)
	b.change(func(n *node.Node) { b.machine.reads, n.Silence.NextAt = nil, time.Now() })
	_, err = b.run()
	require.NoError(t, err)
	const slow = "the BMC answers slowly (its last answer took 9.8s; it has up to 19.6s for the next one)"
	require.Equal(t, []string{"the BMC has not answered since T (no answer in time); gives up at T", slow, slow}, told)
	require.Nil(t, b.op().StepWait)
}

// A power request that the BMC never answers is told as such while the effect is awaited, and when the step has failed.
func TestAPowerRequestWithoutAnAnswerIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.steps.Settings.PowerTimeout = 100 * time.Millisecond
	b.machine.within = 50 * time.Millisecond
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, silence() }
	_, err := b.run()
	require.Regexp(t, `power state is not "power on" \S+s after On was sent; the BMC has not answered that request: no answer in time`, err)
	require.Equal(t, fault.PowerUnchanged, b.op().Steps[0].Cause)

	// Another attempt finds the request that was sent, and looks first whether it has taken effect. What it tells is not over yet.
	at := time.Now().Add(-time.Minute)
	b.changeOp(func(o *node.Operation) { o.Steps[0].Issued = &node.Issued{At: at, Command: string(bmc.RequestOn)} })
	b.steps.Settings.PowerTimeout, b.steps.Settings.TellEvery = time.Hour, time.Nanosecond
	var until []time.Time
	b.machine.onPowerRead = func() error {
		if w := b.op().StepWait; w != nil {
			require.Contains(t, waitWords(w, time.Time.String), "the BMC has not answered that request")
			if w.Until != nil { // else the answer to the request is awaited
				until = append(until, *w.Until)
			}
		}
		if len(until) > 3 {
			return fault.New(fault.Refused, "enough")
		}
		return nil
	}
	_, err = b.run()
	require.ErrorContains(t, err, "enough")
	for _, at := range until {
		require.WithinDuration(t, time.Now().Add(time.Hour), at, 10*time.Minute)
	}
}

// A conductor that goes on with the request of an interrupted one does not know whether the BMC has answered it. The error counts
// from when the request was sent.
func TestWhoGoesOnWithAPowerRequestSaysThatItIsUnansweredOnlyIfItsAnswerWasAwaited(t *testing.T) {
	t.Parallel()
	for name, awaited := range map[string]bool{"who sent it was interrupted": false, "who sent it has awaited the answer": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindPower, node.Active, bmc.PoweringOn, fakes, plan.Options{Power: node.PowerOn})
			b.steps.Settings.PowerTimeout, b.steps.Settings.TellEvery = 100*time.Millisecond, time.Nanosecond
			at := time.Now().UTC().Add(-69 * time.Second)
			b.changeOp(func(o *node.Operation) {
				o.Steps[0].State = node.StepRunning
				o.Steps[0].Issued = &node.Issued{At: at, Command: string(bmc.RequestOn), Awaited: awaited}
				o.StepWait = &node.Wait{For: node.WaitPower, Subject: string(node.PowerOn), Since: at, Unanswered: true}
			})
			told := 0
			b.book.onTell = func(_ int, w node.Wait) error {
				told++
				words := waitWords(&w, func(time.Time) string { return "T" })
				require.Contains(t, words, "power on asked at T")
				require.Equal(t, awaited, strings.Contains(words, "the BMC has not answered that request"), words)
				return nil
			}
			_, err := b.run()
			require.Regexp(t, `power state is not "power on" 1m\d+s after On was sent \(`, err.Error())
			require.NotZero(t, told)
			require.Empty(t, b.machine.asked)
		})
	}
}

func TestOnlySilenceIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a wrong password":              fault.CodedAs(fault.Denied, fault.BMCWrongPassword, "401"),
		"a refusal":                     fault.CodedAs(fault.Refused, fault.BMCRefuses, "400"),
		"a certificate that is unknown": fault.CodedAs(fault.Untrusted, fault.BMCNotTrusted, "x509"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
			b.steps.Settings.AwayTimeout = time.Hour
			b.machine.reads = func() error { return err }
			_, got := b.run()
			require.True(t, final(got))
			require.Nil(t, b.op().Steps[0].SilentSince)
		})
	}
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.machine.reads = silence
	for i := 1; i <= conductor.StepLimit; i++ {
		_, err := b.run()
		require.Equal(t, i == conductor.StepLimit, final(err), "nobody waits if the setting is 0")
	}
}

func TestABMCIsBackAfterThreeGoodAnswersInARow(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.steps.Settings.AwayTimeout = time.Hour
	reads := 0
	b.machine.reads = func() error {
		switch reads++; reads {
		case 1, 4: // it goes away again after two answers
			return silence()
		case 5:
			b.machine.power = bmc.PowerOn // what it showed before was of before its restart
		}
		return nil
	}
	for range 2 {
		_, err := b.run()
		require.Error(t, err)
		require.False(t, final(err))
		require.Empty(t, b.machine.asked)
		b.change(func(n *node.Node) { n.Silence.NextAt = time.Now() })
	}
	require.Equal(t, 4, reads)
	_, err := b.run()
	require.NoError(t, err)
	require.Empty(t, b.machine.asked, "it is on already")
	require.Equal(t, 7, reads)
	require.Nil(t, b.op().Steps[0].SilentSince)
}

func TestAnotherConductorThatGetsAnswersGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	b.book.covered("c1", "c2")
	b.machine.reads = silence
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextElsewhere, r.Next)
	b.machine.reads, b.steps.Settings.Conductor, b.tried = nil, "c2", []string{"c1"}
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Zero(t, b.op().Steps[0].Failures)
}

func TestANewPhaseBeginsTheTimeForSilenceAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOn, direct, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	long := time.Now().Add(-2 * time.Hour)
	var failed error
	b.machine.insert = func(string) error {
		failed = errors.New("it was asked")
		return silence()
	}
	at := b.op().CurrentStep().Index
	for i := range b.op().Steps { // the step that boots the agent
		if b.op().Steps[i].Name() == "deploy.deploy" {
			at = i
		}
	}
	b.changeOp(func(o *node.Operation) { o.Steps[at].SilentSince = &long })
	_, err := b.run()
	require.Error(t, failed)
	require.False(t, final(err), "it has switched the server off since")
	since := *b.op().Steps[at].SilentSince
	require.True(t, since.After(long))
	_, err = b.run()
	require.Error(t, err)
	require.Equal(t, since, *b.op().Steps[at].SilentSince, "the same request has got no answer again")
}

// The BMC was silent long ago, has answered since while the step waits, and falls silent again.
func TestEachSilenceHasItsOwnTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.steps.Settings.AwayTimeout, b.steps.Settings.PowerTimeout = time.Hour, 10*time.Hour
	b.book.covered("c1", "c2")
	b.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, nil } // it is accepted, and has no effect yet
	step := func() *node.Step { return &b.op().Steps[0] }                         // as it is recorded
	silent := func() error {
		b.tried, b.steps.Settings.Conductor = []string{"c2"}, "c1"
		b.machine.reads = silence
		_, err := b.run()
		return err
	}
	answers := func() { // it is watched until it falls silent, and passed on
		b.change(func(n *node.Node) { b.tried, b.steps.Settings.Conductor, n.Silence.NextAt = nil, "c2", time.Now() })
		reads := 0
		b.machine.reads = func() error {
			if reads++; reads > 20 {
				return fault.New(fault.Refused, "the end of the silence is not recorded")
			}
			if len(b.machine.asked) > 0 && step().SilentSince == nil && b.node().Silence == nil {
				return silence()
			}
			return nil
		}
		r, err := b.run()
		require.NoError(t, err)
		require.Equal(t, conductor.NextElsewhere, r.Next)
	}
	require.False(t, final(silent()))
	ago := func(at *time.Time) *time.Time { before := at.Add(-50 * time.Minute); return &before }
	for n := range conductor.StepLimit {
		require.Equal(t, max(0, n-1), step().Failures, "those of the first hour don't count")
		b.change(func(n *node.Node) {
			s := &n.Operation.Steps[0]
			s.SilentSince, s.FirstSilentAt, n.Silence.Since = ago(s.SilentSince), ago(s.FirstSilentAt), *ago(&n.Silence.Since)
		})
		answers()
		require.WithinDuration(t, time.Now(), *step().SilentSince, 10*time.Minute)
		err := silent()
		require.False(t, final(err), "silence %d: %v", n, err)
		require.WithinDuration(t, step().SilentSince.Add(time.Hour+8*time.Second), *b.op().WaitingUntil, time.Microsecond)
	}
	answers()
	require.True(t, final(silent()), "as often as it may fail")
	require.Equal(t, fault.BMCSilent, step().Cause)
}

const cutOffHint = "its own network is cut off"

// managed is a manage of the node with that number.
func managed(t *testing.T, reach *conductor.Reach, number int, reads func() error) *bench {
	b := newBenchOf(t, &node.Node{UUID: uuid[:len(uuid)-1] + strconv.Itoa(number), ProvisionState: node.Verifying, Interfaces: fakes}, nil,
		node.KindManage, bmc.PowerOn, plan.Options{})
	b.steps.Settings.AwayTimeout, b.steps.Reach = time.Hour, reach
	b.machine.reads = reads
	_, _ = b.run()
	return b
}

func TestANetworkThatIsCutOffOnOurSideIsTold(t *testing.T) {
	t.Parallel()
	reach := &conductor.Reach{}
	number := 0
	manage := func(reads func() error) string {
		number++
		return managed(t, reach, number, reads).op().Steps[0].LastError
	}
	require.NotContains(t, manage(silence), cutOffHint, "it is the only one")
	require.Contains(t, manage(silence), cutOffHint)
	require.Equal(t, 2, reach.Silent())
	require.Empty(t, manage(nil), "another one answers")
	require.NotContains(t, manage(silence), cutOffHint, "only this one has gone silent since")
	require.Equal(t, 3, reach.Silent())
}

func TestAnIdleConductorAsksOthersBeforeItTakesItsNetworkForCutOff(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]error{"they answer": nil, "they refuse": fault.New(fault.Denied, "401"), "they are silent": silence()} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			reach := &conductor.Reach{Ask: func(ctx context.Context, node string) error {
				_, ends := ctx.Deadline()
				require.True(t, ends)
				asked = append(asked, node)
				return others
			}}
			answered := managed(t, reach, 1, nil).book.node
			managed(t, reach, 2, nil)
			first := managed(t, reach, 2, silence)
			require.NotContains(t, first.op().Steps[0].LastError, cutOffHint, "it is the only one")
			require.Empty(t, asked)
			second := managed(t, reach, 3, silence)
			require.Equal(t, []string{answered}, asked, "once, and not the one that is silent")
			cut := others != nil && isSilent(others)
			require.Equal(t, cut, strings.Contains(second.op().Steps[0].LastError, cutOffHint))
			require.Equal(t, cut, second.node().Silence == nil, "the silence is recorded if it is not the conductor's own network")
		})
	}
}

func TestABMCIsAskedWithoutAClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	require.NoError(t, b.steps.AskBMC(t.Context(), uuid))
	b.machine.reads = silence
	require.True(t, isSilent(b.steps.AskBMC(t.Context(), uuid)))
	require.Zero(t, b.machine.writes)
	b.change(func(n *node.Node) { n.Driver = "unknown" })
	require.ErrorContains(t, b.steps.AskBMC(t.Context(), uuid), "has no driver unknown")
}

func isSilent(err error) bool { return fault.Is(err, fault.Unreachable) && fault.NoAnswer(err) }

func TestASilentBMCIsAskedByOneAndTheOthersWaitWithoutASlot(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	reads := 0
	b.machine.reads = func() error { reads++; return silence() }
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, 1, reads)
	require.NotNil(t, b.node().Silence)
	before := b.op().Steps[0]

	b.change(func(n *node.Node) {
		n.Silence.NextAt, n.Silence.AskedBy = time.Now().Add(time.Hour), "c2" // which asks it for another node
	})
	_, err = b.run()
	var app *temporal.ApplicationError
	require.ErrorAs(t, err, &app)
	require.False(t, app.NonRetryable())
	require.InDelta(t, time.Hour, app.NextRetryDelay(), float64(10*time.Minute))
	require.Equal(t, 1, reads, "it was not asked")
	after := b.op().Steps[0]
	require.Equal(t, before.Attempts, after.Attempts, "and that is no attempt")
	require.Equal(t, before.LastError, after.LastError)
	require.Equal(t, before.SilentSince, after.SilentSince)
	require.Equal(t, "the BMC to answer again", b.op().WaitingFor)

	b.change(func(n *node.Node) { n.Silence.NextAt = time.Now() })
	b.machine.reads = func() error { reads++; return nil }
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, 4, reads)
	require.Nil(t, b.node().Silence)
}

func TestAStepThatHasNotMetTheSilenceAsksAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	now := time.Now()
	b.change(func(n *node.Node) {
		n.Silence = &node.BMCSilence{BMC: n.BMC(), Since: now.Add(-time.Hour), AskedAt: now, AskedBy: "c2", Seen: "no answer", NextAt: now.Add(time.Hour)}
	})
	_, err := b.run()
	require.NoError(t, err)
	require.Nil(t, b.node().Silence, "it answers")
}

func TestAStepWhoseTimeIsOverFailsWithoutAskingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindManage, node.Verifying, bmc.PowerOn, fakes, plan.Options{})
	b.steps.Settings.AwayTimeout = time.Hour
	b.machine.reads = silence
	_, err := b.run()
	require.False(t, final(err))
	long := time.Now().Add(-2 * time.Hour)
	b.change(func(n *node.Node) {
		n.Operation.Steps[0].SilentSince, n.Silence.NextAt = &long, time.Now().Add(time.Hour)
	})
	_, err = b.run()
	require.True(t, final(err))
	require.Contains(t, b.op().Steps[0].LastError, "no answer in time; conductor")
	require.Equal(t, fault.BMCSilent, b.op().Steps[0].Cause)
}

func TestWatchingEndsWhenTheBMCStaysSilent(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindPower, node.Active, bmc.PowerOff, fakes, plan.Options{Power: node.PowerOn})
	b.steps.Settings.AwayTimeout, b.steps.Settings.PowerTimeout, b.steps.Settings.PowerSettle = time.Hour, time.Hour, time.Hour
	at, long := time.Now().UTC(), time.Now().Add(-time.Minute)
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State, o.Steps[0].Issued = node.StepRunning, &node.Issued{At: at, Command: string(bmc.RequestOn)}
		o.StepWait = &node.Wait{For: node.WaitPower, Subject: string(node.PowerOn), Since: at, Unread: "no answer", UnreadSince: &long}
	})
	b.machine.reads = silence
	_, err := b.run()
	require.Error(t, err)
	require.False(t, final(err))
	require.Equal(t, "the BMC to answer again", b.op().WaitingFor)
	require.NotNil(t, b.op().Steps[0].Issued, "its effect is read when the BMC answers")
	require.WithinDuration(t, long, b.node().Silence.Since, 10*time.Second, "a silence begins with the first look that got no answer")
	require.WithinDuration(t, long, *b.op().StepWait.UnreadSince, 0, "and the step tells the same")
}

// waitWords has the words about w, with times as format writes them.
func waitWords(w *node.Wait, format func(time.Time) string) string {
	return finding.All(finding.Wait(w, nil, finding.Watch{}), finding.Reader{Format: format})
}
