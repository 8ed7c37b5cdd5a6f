package conductor

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// errEndAsked means that somebody asked to end the operation during a wait for the BMC.
var errEndAsked = errors.New("somebody asked for an end")

// setMedia inserts the image and returns when the BMC shows it. Many BMCs download
// the image before they answer. That takes longer than a request may, and they go on
// after the client has hung up. So setMedia records the insertion before it sends
// it, and after it was sent, by this attempt or an earlier one, reads the virtual
// drive for Settings.MediaTimeout before it sends anything again. Only if an earlier attempt was interrupted while it sent the
// request, it is repeated as soon as the first one can't take effect any more: perhaps it was never sent. A medium that the step
// has not inserted itself is ejected first, even if it is the wanted one: some BMCs show a medium
// long after it was ejected, and the server would boot without it (ironic release note
// fix-redfish-vmedia-stale-insert-skip).
func (t *task) setMedia(ctx context.Context, step *node.Step, s bmc.VirtualMedia, url string) error {
	t.dropUnsent(step)
	var first *node.Issued // an insertion that may still be under way
	if step.Inserting() {
		shown, err := t.watchMedia(ctx, step, s, mediumName(url), t.insertionLost(step), func(m bmc.Media) bool { return m.MayHold(url) })
		if err != nil {
			return err
		}
		if shown {
			t.inserted(step, url)
			return nil
		}
		if first = step.Issued; !time.Now().Before(t.insertionOver(first)) {
			first, step.Issued = nil, nil
		}
	}
	before, err := s.Media(ctx)
	if err != nil {
		return err
	}
	if before.Inserted {
		ours, err := t.ownMedium(ctx, step, s, before, url)
		if err != nil || ours {
			return err
		}
	}
	recorded := t.op.RequestsSent
	step.Issued = &node.Issued{At: time.Now().UTC(), Command: node.InsertMedia, Sent: &recorded}
	if err := t.save(ctx); err != nil {
		return err
	}
	sent := s.InsertMedia(ctx, url)
	step.Issued.Awaited = ctx.Err() == nil
	switch {
	case fault.Is(sent, fault.OutcomeUnknown):
		sent = fault.New(fault.Unreachable, "%w", sent)
		if t.readBackByAnother(ctx, sent) {
			return sent // the record tells the other conductor to look first
		}
	case fault.Is(sent, fault.Unreachable) && !fault.NoAnswer(sent): // the connection broke, and the BMC may have inserted it
	case first != nil && (fault.Is(sent, fault.Refused) || fault.Is(sent, fault.Busy)): // it still downloads what was asked for first
		step.Issued.At = first.At
	case sent != nil:
		if ctx.Err() == nil {
			step.Issued = first // this one was not sent, or refused
		}
		return refusedAs(fault.VirtualMediaRefused, sent)
	}
	// An image that is inserted now and was not before is ours, whatever the BMC calls it.
	shown, err := t.watchMedia(ctx, step, s, mediumName(url), t.insertionOver(step.Issued), func(m bmc.Media) bool {
		return m.MayHold(url) || m.Inserted && m.Image != before.Image
	})
	if err != nil {
		return err
	}
	if shown {
		t.inserted(step, url)
		return nil
	}
	step.Issued = nil
	if sent != nil {
		return fault.CodedAs(fault.Unreachable, fault.VirtualMediaRefused, "the BMC does not show the virtual medium %s after the request to insert it: %w", t.Settings.MediaTimeout, sent)
	}
	return fault.CodedAs(fault.Unreachable, fault.VirtualMediaRefused, "the BMC accepted the virtual medium but does not show it %s later", t.Settings.MediaTimeout)
}

// inserted notes that the step's medium is in the drive.
func (t *task) inserted(step *node.Step, url string) {
	step.Issued, step.MediumInserted = nil, true
	t.tookEffect(bmc.NameInsert(url))
}

// insertionOver returns until when a medium is waited for after the BMC was asked to insert it.
func (t *task) insertionOver(i *node.Issued) time.Time { return i.At.Add(t.Settings.MediaTimeout) }

// insertionLost returns when the step's insertion, which an earlier attempt has recorded, may be sent again: if that attempt was
// interrupted before the BMC answered, once the request can't be on its way any more.
func (t *task) insertionLost(step *node.Step) time.Time {
	over := t.insertionOver(step.Issued)
	switch f := t.flight; {
	case step.Issued.Awaited || f != nil && f.until.After(over):
		return over
	case f != nil:
		return f.until
	}
	return time.Now()
}

// dropUnsent drops the record of an insertion whose request was not sent: an earlier attempt ended between the two, because nothing
// is sent that was not recorded as a request right before (permit). So nobody has to wait for its medium.
func (t *task) dropUnsent(step *node.Step) {
	if step.Inserting() && step.Issued.Sent != nil && *step.Issued.Sent == t.op.RequestsSent {
		step.Issued = nil
	}
}

// ownMedium reports whether the medium that the BMC shows is the one that the step has inserted for this boot, and ejects it if
// it is not. The wanted medium is used if the BMC refuses to eject it.
func (t *task) ownMedium(ctx context.Context, step *node.Step, s bmc.VirtualMedia, shown bmc.Media, url string) (bool, error) {
	if step.MediumInserted && shown.MayHold(url) {
		waited, err := t.awaitOthers(ctx, bmc.NameInsert(url))
		if err != nil || !waited {
			return true, err
		}
		return true, t.setMedia(ctx, step, s, url)
	}
	err := s.EjectMedia(ctx)
	if fault.Is(err, fault.Refused) && shown.Holds(url) {
		return true, nil
	}
	return false, refusedAs(fault.VirtualMediaRefused, err)
}

// watchMedia reads the virtual drive until the medium, whose file has that name, is as
// wanted, and reports whether it was so before the time until. It reads at least once. It keeps trying if the BMC does not answer:
// some don't while they download.
func (t *task) watchMedia(ctx context.Context, step *node.Step, s bmc.VirtualMedia, name string, until time.Time, wanted func(bmc.Media) bool) (bool, error) {
	until = until.UTC()
	next, told := backoff(t.Settings.MediaPoll), false
	w := node.Wait{For: node.WaitMedium, Subject: name, Since: step.Issued.At, Until: &until, Every: t.Settings.MediaPoll}
	t.attempt(&w, step)
	t.waitFor(w)
	var heard *events
	defer func() { heard.end(ctx) }()
	for {
		m, err := s.Media(ctx)
		switch {
		case err == nil && wanted(m):
			t.arrived()
			return true, nil
		case err == nil:
			t.saw(shownMedium(m))
			if err := t.bmcAnswered(ctx); err != nil {
				return false, err
			}
		default:
			t.missed(err)
			if err := t.whyNotReadAgain(ctx, err); err != nil {
				return false, err
			}
		}
		if !time.Now().Before(until) {
			return false, nil
		}
		if !told && !t.undoes {
			told = true
			if err := t.showMediaWait(ctx, until); err != nil {
				return false, err
			}
		}
		if heard == nil {
			heard = t.listen(ctx)
		}
		asked := bmc.RetryAfter(err)
		if err := heard.pause(ctx, min(max(next(), asked), max(time.Until(until), 0)), asked); err != nil {
			return false, err
		}
		if err := t.guardAndTell(ctx); err != nil {
			return false, err
		}
		if !t.undoes && t.op.MayLeave(step, node.NotBlocked) {
			return false, errEndAsked
		}
	}
}

// shownMedium is what the BMC shows in the drive.
func shownMedium(m bmc.Media) string {
	if !m.Inserted {
		return "an empty drive"
	}
	if name := mediumName(m.Image); name != "" {
		return "the medium " + name
	}
	return "a medium that it does not name"
}

// showMediaWait saves that the operation waits for the virtual medium.
func (t *task) showMediaWait(ctx context.Context, until time.Time) error {
	t.op.WaitingFor, t.op.WaitingUntil = "the BMC to show the virtual medium", &until
	err := t.save(ctx)
	t.op.WaitingFor, t.op.WaitingUntil = "", nil // for the next save
	return err
}

// awaitPendingMedia waits for the images whose insertion was sent and whose outcome is not
// known, so that none appears in the drive after the undo found it empty.
func (t *task) awaitPendingMedia(ctx context.Context) error {
	if !slices.Contains(t.op.Undo, node.UndoEjectMedia) {
		return nil
	}
	for i := range t.op.Steps {
		if step := &t.op.Steps[i]; !step.Over() {
			if err := t.awaitInsertion(ctx, step); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitInsertion waits until the image of an insertion that the step has sent is in the
// drive, or can't appear any more, and drops the record of it.
func (t *task) awaitInsertion(ctx context.Context, step *node.Step) error {
	if t.dropUnsent(step); !step.Inserting() {
		return nil
	}
	s, err := t.virtualMedia(ctx)
	if err != nil {
		return err
	}
	shown, err := t.watchMedia(ctx, step, s, "", t.insertionOver(step.Issued), func(m bmc.Media) bool { return m.Inserted })
	if err != nil {
		return err
	}
	step.Issued, step.MediumInserted = nil, shown
	return nil
}

func (t *task) ejectMedia(ctx context.Context, s bmc.VirtualMedia) error {
	m, err := s.Media(ctx)
	if err != nil {
		return err
	}
	if !m.Inserted {
		waited, err := t.awaitOthers(ctx, bmc.NameEject)
		if err != nil || !waited {
			return err
		}
		return t.ejectMedia(ctx, s)
	}
	sent := s.EjectMedia(ctx)
	if sent != nil && !fault.Is(sent, fault.Unreachable) || t.readBackByAnother(ctx, sent) {
		return sent
	}
	m, err = s.Media(ctx)
	if err == nil && !m.Inserted {
		t.tookEffect(bmc.NameEject)
	}
	if err == nil && m.Inserted {
		return fault.CodedAs(fault.Unreachable, fault.VirtualMediaRefused, "the BMC still shows a virtual medium")
	}
	return err
}
