package conductor

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/text"
)

// A BMC that gives no answer is recorded in the database (node.BMCSilence). From then on one conductor at a time asks it, after
// pauses that grow, and whatever waits for it occupies no slot of a conductor: the step ends with an error that Temporal retries
// after the pause. A step that has not met the silence yet asks at once, in a round of conductors, because somebody may have
// mended the BMC just before.

const (
	// silentInSlot is how long the watching of hardware goes on while the BMC gives no answer: some are away for seconds
	// when their server is switched.
	silentInSlot = 10 * time.Second
	// silenceTimeout is how long it may take to record silence. A step does not need that.
	silenceTimeout = 2 * time.Second
	// usualWithin is how long the answers of a BMC are awaited for which nothing has been learned yet.
	usualWithin = 4 * time.Second
)

// SilenceStore is where all conductors record which BMCs give no answer.
type SilenceStore interface {
	// BMCSilent records that the BMC of the node with this id has given no answer since s.Since, and that nobody asks it for pause.
	BMCSilent(ctx context.Context, id int64, s node.BMCSilence, pause time.Duration) error
	// AskSilentBMC returns how long the conductor has to wait before it may ask the BMC. If that is 0, nobody else asks it
	// for within. now = the answer is 0 in any case.
	AskSilentBMC(ctx context.Context, bmc, conductor string, within time.Duration, now bool) (time.Duration, error)
	// BMCAnswered forgets the silence of a BMC, and of the BMC that the node with this id had before.
	BMCAnswered(ctx context.Context, id int64, bmc string) error
}

// notAskedError means that a BMC is silent and that it is not the turn of this attempt to ask it.
type notAskedError struct {
	error
	left time.Duration // until it may be asked
}

func (e *notAskedError) Unwrap() error { return e.error }

func isNotAsked(err error) bool {
	var e *notAskedError
	return errors.As(err, &e)
}

// mayAsk returns a notAskedError if the BMC is silent and it is not the turn of this attempt to ask it.
func (t *task) mayAsk(ctx context.Context) error {
	s := t.node.SilentBMC()
	if s == nil || t.Settings.AwayTimeout == 0 || t.mayAskNow {
		return nil
	}
	left, err := t.Store.AskSilentBMC(ctx, s.BMC, t.Settings.Conductor, askWithin(t.op.AnswerWithin), t.asksAtOnce())
	if err != nil || left == 0 {
		t.mayAskNow = err == nil
		return err
	}
	return &notAskedError{silentError(s), left}
}

// silentError is the error of whoever does not ask a silent BMC.
func silentError(s *node.BMCSilence) error {
	return fault.CodedAs(fault.Unreachable, fault.BMCSilent, "%w; conductor %s asked last at %s",
		fault.NoAnswerError(s.Seen), s.AskedBy, text.Moment(s.AskedAt))
}

// notAskedNow is the error of a reading for a client who waits for it, if the BMC is known to be silent and it is not the time to ask
// it. It says what is known now: the error with which it was asked last is not this reading's.
func notAskedNow(s *node.BMCSilence) error {
	asked := "conductor %s asked it last at %s (%s), and it is asked again about %s"
	if s.Asking {
		asked = "conductor %s is asking it since %s (the last error: %s), and waits for the answer until %s at the latest"
	}
	return fault.CodedAs(fault.Unreachable, fault.BMCSilent,
		"the BMC has given no answer since %s; it was not asked now: "+asked, text.Moment(s.Since), s.AskedBy, text.Moment(s.AskedAt),
		text.Clause(s.Seen), text.Moment(s.NextAt))
}

// askWithin returns for how long nobody else asks a silent BMC: long enough for a login and a reading.
func askWithin(answer time.Duration) time.Duration { return 2*max(answer, usualWithin) + 5*time.Second }

// asksAtOnce reports whether this attempt asks a silent BMC without waiting for its turn: it is the first one of a step or of
// an undo that does, or another conductor of the same round has.
func (t *task) asksAtOnce() bool {
	if t.undoes {
		return t.first || len(t.tried) > 0
	}
	step := t.op.CurrentStep()
	return step == nil || step.SilentSince == nil || len(t.tried) > 0
}

// stillSilent reports whether the step goes on waiting for a BMC that it was not allowed to ask.
func (t *task) stillSilent(step *node.Step, err error) bool {
	spent, _ := t.spent(step, err)
	return isNotAsked(err) && !spent
}

// waitWithoutAsking records that the step goes on waiting. That does not count as an attempt.
func (t *task) waitWithoutAsking(step *node.Step, err error) error {
	var e *notAskedError
	errors.As(err, &e)
	step.Attempts--
	step.ClearDeaths()
	t.op.Rests, t.pending.Came, t.pending.Move = true, true, ""
	since := t.silentFrom(step)
	t.waitAfterFailure(step, err, 0)
	t.waitForAnswer(step, since)
	left := min(e.left, t.Settings.AwayTimeout-time.Since(*step.SilentSince)) // after that the step has failed, whoever asks the BMC then
	ctx, cancel := context.WithTimeout(context.Background(), t.Settings.HeartbeatTimeout/2)
	defer cancel()
	if err := t.save(ctx); fault.Is(err, fault.Lost) {
		return activities.NonRetryable(err)
	}
	return activities.RetryAfter(err, max(left, time.Second))
}

// silentPause returns the pause before the BMC is asked again. since is when the step first got no answer.
func (t *task) silentPause(since time.Time) time.Duration {
	if s := t.node.SilentBMC(); s != nil && s.Since.Before(since) {
		since = s.Since
	}
	return node.SilentPause(time.Since(since), t.awaited)
}

// undoPause returns the pause after the error of an undo.
func (t *task) undoPause(err error) time.Duration {
	var e *notAskedError
	switch {
	case errors.As(err, &e):
		return e.left
	case t.undoes && t.Settings.AwayTimeout > 0 && isSilence(err):
		pause := t.silentPause(time.Now())
		t.noteSilence(err, pause, t.silentFrom(nil))
		return pause
	}
	return time.Second
}

// noteSilence records for all conductors that the BMC gave no answer. A conductor that gets no
// answer of any BMC records nothing, because its own network may be cut off.
// since is when the silence began.
func (t *task) noteSilence(err error, pause time.Duration, since time.Time) {
	if t.Settings.AwayTimeout == 0 || t.Reach.cutOffNow(context.Background(), t.node.UUID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), silenceTimeout)
	defer cancel()
	s := node.BMCSilence{BMC: t.node.BMC(), Since: since, AskedBy: t.Settings.Conductor, Seen: fault.Text(err)}
	if err := t.Store.BMCSilent(ctx, t.node.ID, s, pause); err != nil {
		t.log.Warn("that the BMC gives no answer could not be recorded", zap.Error(err))
	}
}

// silentFrom returns when the silence of the BMC began that the step, nil = none, has met: when it was recorded or, sooner, when the
// first look got no answer. It is asked before what the step waits for is replaced.
func (t *task) silentFrom(step *node.Step) time.Time {
	since := time.Now().UTC()
	earlier := func(at *time.Time) {
		if at != nil && at.Before(since) {
			since = *at
		}
	}
	if step != nil {
		earlier(step.SilentSince)
	}
	if w := t.op.StepWait; w.AsksBMC() && w.Unread != "" {
		earlier(w.UnreadSince)
	}
	if s := t.node.SilentBMC(); s != nil {
		earlier(&s.Since)
	}
	return since
}

// isBack notes that the BMC answers again.
func (t *task) isBack(ctx context.Context) {
	t.silent = false
	if t.node.Silence == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, silenceTimeout)
	defer cancel()
	if err := t.Store.BMCAnswered(ctx, t.node.ID, t.node.BMC()); err != nil {
		t.log.Warn("that the BMC answers again could not be recorded", zap.Error(err))
		return
	}
	t.node.Silence = nil
}

// leavesSilent reports whether the watching of hardware ends because the BMC has given no answer for a while, or was silent when
// the watching began.
func (t *task) leavesSilent(err error) bool {
	step, w := t.op.CurrentStep(), t.op.StepWait
	if !isSilence(err) || t.Settings.AwayTimeout == 0 || !t.undoes && (step == nil || step.Rule().Failures > 0) {
		return false
	}
	return t.wasSilent() || w != nil && w.UnreadSince != nil && time.Since(*w.UnreadSince) >= silentInSlot
}
