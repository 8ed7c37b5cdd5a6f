package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

const agentISO = "http://images/deploy.iso"

// unheard is the error of an insertion that got no answer.
func unheard() error {
	return fault.New(fault.OutcomeUnknown, "insert: %w", fault.NoAnswerError("no answer in time"))
}

// booting is a deploy that boots its agent on a BMC that shows a medium only some time after the request to insert it,
// and does not answer that request until then.
func booting(t *testing.T, after time.Duration) *bench {
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.steps.Settings.MediaTimeout, b.steps.Settings.MediaPoll = 5*time.Second, 5*time.Millisecond
	b.machine.insert = func(url string) error {
		time.AfterFunc(after, func() {
			b.machine.mu.Lock()
			defer b.machine.mu.Unlock()
			b.machine.media = bmc.Media{Inserted: true, Image: url}
		})
		return unheard()
	}
	return b
}

func (b *bench) issued() *node.Issued {
	for _, s := range b.op().Steps {
		if s.Issued != nil {
			return s.Issued
		}
	}
	return nil
}

func TestASlowInsertionIsSentOnce(t *testing.T) {
	t.Parallel()
	b := booting(t, 200*time.Millisecond)
	var waited string
	b.book.onSave = func(int) {
		if f := b.op().WaitingFor; f != "" {
			waited = f
		}
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{agentISO}, b.machine.images)
	require.Equal(t, "the BMC to show the virtual medium", waited)
	require.Nil(t, b.issued())
	require.Contains(t, b.op().Undo, node.UndoEjectMedia)
}

func TestAnInsertionThatAnotherConductorHasSentIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := booting(t, 200*time.Millisecond)
	b.book.covered("c1", "c2")
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextElsewhere, r.Next, "this conductor may be cut off")
	require.Equal(t, "InsertMedia", b.issued().Command)
	b.book.covered()
	r, err = b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{agentISO}, b.machine.images)
}

func TestAnInsertionThatWasRecordedButNotSentIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	b := booting(t, 0)
	waited := false
	b.book.onSave = func(int) { waited = waited || b.op().WaitingFor != "" && len(b.machine.images) == 0 }
	b.book.onRequest = func() error {
		if b.issued() == nil {
			return nil // an earlier request
		}
		return fault.New(fault.Lost, "another conductor has the claim")
	}
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, node.InsertMedia, b.issued().Command)
	require.Empty(t, b.machine.images)
	b.book.onRequest = nil
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{agentISO}, b.machine.images)
	require.False(t, waited)
}

// interrupted is like booting, but the first conductor loses its claim while it sends the request, for which a BMC may have that
// long. reached tells whether the request reaches the BMC, which goes on with it then and refuses others.
func interrupted(t *testing.T, reached bool) *bench {
	b := booting(t, 0)
	b.steps.Settings.MediaTimeout = time.Minute
	b.machine.insert = func(url string) error {
		b.changeOp(func(o *node.Operation) { o.Claim.Seq++ })
		if reached {
			time.AfterFunc(soon, func() { b.machine.shows(url) })
		}
		return unheard()
	}
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, node.InsertMedia, b.issued().Command)
	require.False(t, b.issued().Awaited)
	b.seq++
	b.machine.insert = nil
	return b
}

func TestAnInsertionOfAnInterruptedConductorIsRepeatedAfterItsTime(t *testing.T) {
	t.Parallel()
	b := interrupted(t, false)
	until, over := b.left(bmc.NameInsert(agentISO), soon), b.issued().At.Add(b.steps.Settings.MediaTimeout)
	var repeated time.Time
	b.machine.insert = func(url string) error {
		repeated, b.machine.media = time.Now(), bmc.Media{Inserted: true, Image: url}
		return nil
	}
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Len(t, b.machine.images, 2)
	require.False(t, repeated.Before(until))
	require.True(t, repeated.Before(over))
	require.Nil(t, b.issued())
}

func TestARefusedRepetitionLeavesTheFirstInsertionItsTime(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"refused": fault.New(fault.Refused, "400: it is in use"), "busy": bmc.Busy(0, "409")} {
		t.Run(name, func(t *testing.T) {
			b := interrupted(t, false)
			b.book.left("", time.Now())
			first := b.issued().At
			b.machine.insert = func(url string) error {
				time.AfterFunc(time.Second, func() { b.machine.shows(url) }) // so late that it is waited for
				return refusal
			}
			noted := false
			b.book.onSave = func(int) {
				if i := b.issued(); i != nil && i.Awaited {
					noted = i.At.Equal(first)
				}
			}
			r, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextAgent, r.Next)
			require.Len(t, b.machine.images, 2)
			require.True(t, noted, "the time for the medium runs from the first request")
			require.Nil(t, b.issued())
		})
	}
}

func TestAnInsertionThatNeverShowsIsSentAgain(t *testing.T) {
	t.Parallel()
	b := booting(t, time.Hour)
	b.steps.Settings.MediaTimeout = 50 * time.Millisecond
	_, err := b.run()
	require.ErrorContains(t, err, "no answer in time")
	require.Regexp(t, `does not show the virtual medium \S+s after the request to insert it`, err)
	require.False(t, final(err))
	b.machine.insert = nil
	_, err = b.run()
	require.NoError(t, err)
	require.Len(t, b.machine.images, 2)
}

func TestAnInsertionThatWasRefusedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"refused":                fault.New(fault.Refused, "400"),
		"busy":                   bmc.Busy(0, "409"),
		"never sent":             fault.New(fault.Unreachable, "%w", fault.NoAnswerError("connection refused")),
		"of a wrong certificate": fault.New(fault.Untrusted, "x509"),
	} {
		b := booting(t, time.Hour)
		b.steps.Settings.MediaTimeout = time.Hour
		b.machine.insert = func(string) error { return err }
		_, got := b.run()
		require.Error(t, got, name)
		require.Nil(t, b.issued(), name)
	}
}

// Some BMCs show a medium long after it was ejected.
func TestAMediumThatIsShownAlreadyIsInsertedAnewAndOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOff, direct, plan.Options{})
	b.machine.media = bmc.Media{Inserted: true, Image: agentISO}
	b.machine.boots = func(bmc.Boot) bmc.Boot { return bmc.Boot{Device: bmc.DeviceDisk} }
	_, err := b.run()
	require.ErrorContains(t, err, "took the boot device")
	require.Equal(t, []string{agentISO}, b.machine.images)
	b.machine.boots = nil
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Equal(t, []string{agentISO}, b.machine.images, "what this boot has inserted stays")
	require.Nil(t, b.issued())
}

func TestAMediumThatCanNotBeEjectedIsUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOff, direct, plan.Options{})
	b.machine.media, b.machine.stuck = bmc.Media{Inserted: true, Image: agentISO}, fault.New(fault.Refused, "it is in use")
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAgent, r.Next)
	require.Empty(t, b.machine.images)
}

func TestTheImageIsKnownInTheBMCsSpelling(t *testing.T) {
	t.Parallel()
	for _, told := range []string{"http://IMAGES:80/deploy%2Eiso", "deploy.iso", "", "http://mirror/elsewhere.iso"} {
		b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
		b.steps.Settings.MediaTimeout, b.steps.Settings.MediaPoll = 5*time.Second, 5*time.Millisecond
		b.machine.insert = func(string) error {
			b.machine.media = bmc.Media{Inserted: true, Image: told}
			return nil
		}
		_, err := b.run()
		require.NoError(t, err, told)
		require.Len(t, b.machine.images, 1, told)
	}
}

func TestACancelledOperationEjectsWhatIsStillOnItsWay(t *testing.T) {
	t.Parallel()
	b := booting(t, 3*time.Second) // so late that the check below comes before it on any machine
	b.machine.insert = func(send func(string) error) func(string) error {
		return func(url string) error {
			b.changeOp(func(o *node.Operation) { o.Asked = node.AskCancel })
			return send(url)
		}
	}(b.machine.insert)
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextAsked, r.Next)
	require.Equal(t, bmc.Media{}, b.machine.media, "it is still on its way")
	require.NoError(t, b.undo())
	require.Empty(t, b.op().Undo)
	require.Never(t, func() bool {
		b.machine.mu.Lock()
		defer b.machine.mu.Unlock()
		return b.machine.media.Inserted
	}, 300*time.Millisecond, 20*time.Millisecond)
}

func TestAnOverrideIsJudgedByTheNextBoot(t *testing.T) {
	t.Parallel()
	always := func(b bmc.Boot) bmc.Boot { // sushy-tools; the driver has already turned "none" into the disk
		if b.Device == bmc.DeviceNone {
			b.Device = bmc.DeviceDisk
		}
		b.Persistent = true
		return b
	}
	b := newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.machine.boots = always
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, bmc.Boot{Device: bmc.DeviceCDROM, Persistent: true}, b.machine.boot)
	require.NoError(t, b.undo())
	require.Equal(t, bmc.Boot{Device: bmc.DeviceDisk, Persistent: true}, b.machine.boot)
	require.Empty(t, b.op().Undo, "the disk for good counts as cleared")

	b = newBench(t, node.KindDeploy, node.Deploying, bmc.PowerOff, direct, plan.Options{})
	b.machine.boots = func(bmc.Boot) bmc.Boot { return bmc.Boot{Device: bmc.DevicePXE, Persistent: true} }
	_, err = b.run()
	require.ErrorContains(t, err, "took the boot device cdrom (Once) but shows pxe (Continuous)")
}

// The step begins anew while its first medium may still appear. Until then it sends no other medium, and records none.
func TestAStepThatBeginsAnewWaitsForTheMediumThatItHasSent(t *testing.T) {
	t.Parallel()
	b := booting(t, time.Hour)
	b.book.covered("c1", "c2")
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, node.InsertMedia, b.issued().Command)
	b.book.covered()
	b.changeOp(func(o *node.Operation) { o.Steps[1].Rewind() })
	require.Equal(t, node.InsertMedia, b.op().Steps[1].Issued.Command)
	b.machine.power = bmc.PowerOn
	time.AfterFunc(200*time.Millisecond, func() {
		b.machine.mu.Lock()
		defer b.machine.mu.Unlock()
		b.machine.media = bmc.Media{Inserted: true, Image: agentISO}
	})
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []string{agentISO}, b.machine.images, "it is sent once")
	require.Nil(t, b.issued())
	require.Equal(t, node.PhaseBooted, b.op().Steps[1].Phase)
}
