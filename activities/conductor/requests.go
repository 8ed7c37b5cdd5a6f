package conductor

import (
	"context"
	"time"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// A request that changes a server may take effect after its conductor is gone, or has given its answer up. So the
// statement that checks the claim right before it also records the request and until when its answer is awaited. Whoever
// acts on the node next, with whatever operation, learns of it with the claim (Operation.InFlight). It reads at once, and
// may send the same request again. Before anything else is sent, or taken for done already, it waits until that time has
// passed. No older claim can record anything afterwards, so what the claim told is all that can be under way.

// inFlight is a request to the node's BMC that may still take effect.
type inFlight struct {
	name      string
	conductor string // that sent it
	since     time.Time
	until     time.Time // it takes no effect after that
	earlier   time.Time // of requests of the same name that were sent before; zero = there were none
	repeated  bool      // it was sent while an earlier one could take effect
}

// takeInFlight notes what the claim has told.
func (t *task) takeInFlight() {
	if r := t.op.InFlight; r != nil {
		now := time.Now()
		t.flight = &inFlight{name: r.Name, conductor: r.Conductor, since: now, until: now.Add(r.Left), repeated: r.Repeated}
	}
}

// othersInFlight returns the request that may still take effect and is another one than name, nil if there is none.
func (t *task) othersInFlight(name string) *inFlight {
	f := t.flight
	if f == nil || !time.Now().Before(f.until) || f.name == name && bmc.Repeatable(name) {
		return nil
	}
	return f
}

// awaitOthers waits until no other request than name can take effect any more, and reports whether it had to wait.
func (t *task) awaitOthers(ctx context.Context, name string) (waited bool, err error) {
	f := t.othersInFlight(name)
	if f == nil {
		return false, nil
	}
	before, until := t.op.StepWait, f.until
	t.waitFor(node.Wait{For: node.WaitRequest, Subject: f.name + " of " + node.ConductorWords(f.conductor), Since: f.since, Until: &until})
	for left := time.Until(f.until); left > 0; left = time.Until(f.until) {
		if err := t.tell(ctx); err != nil {
			return true, err
		}
		if err := sleep(ctx, min(left, t.Settings.TellEvery)); err != nil {
			return true, err
		}
	}
	t.op.StepWait = before
	t.copyWait()
	return true, nil
}

// await is called before a request takes one of the BMC's slots: it waits for what others may have sent.
func (t *task) await(ctx context.Context, r bmc.Request) error {
	before := t.flight
	if t.asking && !r.Again { // as in permit
		t.answered()
	}
	if _, err := t.awaitOthers(ctx, r.Name); err != nil {
		t.flight = before
		return err
	}
	t.asking = t.asking && r.Again
	return nil
}

// permit is the guard of requests to the BMC: it waits for what others may have sent, checks the claim and records r.
func (t *task) permit(ctx context.Context, r bmc.Request) (time.Time, error) {
	before := t.flight
	if t.asking && !r.Again { // the request before was answered, or nothing more would be sent
		t.answered()
	}
	if _, err := t.awaitOthers(ctx, r.Name); err != nil {
		t.flight = before // there is no new record, so what was sent before must stay recorded
		return time.Time{}, err
	}
	now := time.Now()
	sent := &inFlight{name: r.Name, conductor: t.Settings.Conductor, since: now, until: now.Add(r.AnswerWithin)}
	if f := t.flight; f != nil && now.Before(f.until) {
		sent.earlier, sent.repeated = f.until, true
	}
	asked, err := t.Store.StartRequest(ctx, t.op.ID, t.claim, node.BMCRequest{
		Name: r.Name, Left: max(r.AnswerWithin, sent.earlier.Sub(now)), AnswerWithin: r.AnswerWithin, Repeated: sent.repeated,
	})
	if err != nil {
		t.flight = before
		return time.Time{}, err
	}
	t.op.SetPendingAsk(asked)
	deadline := sent.until
	if sent.earlier.After(sent.until) {
		sent.until = sent.earlier
	}
	t.op.RequestsSent++ // only the holder of the claim records one
	t.flight, t.asking, t.within = sent, true, r.AnswerWithin
	return deadline, nil
}

// answered notes that the last request was answered, or has shown its effect.
func (t *task) answered() {
	f := t.flight
	if f == nil {
		return
	}
	if t.flight = nil; time.Now().Before(f.earlier) {
		still := *f
		still.until, still.earlier = f.earlier, time.Time{}
		t.flight = &still
	}
	t.tellFlight = true
}

// tookEffect notes that the effect of a request of that name was read back. If it was sent once, it is over. If it was
// repeated, nobody knows which one has taken effect.
func (t *task) tookEffect(name string) {
	if f := t.flight; f != nil && f.name == name && !f.repeated {
		t.answered()
	}
}

// heard notes what became of a request whose call has returned err. A request that got no answer in its time may take
// effect later; it is given as much time again, as requests of this BMC are from then on.
func (t *task) heard(err error) error {
	sent := t.asking
	t.asking = false
	t.Reach.heard(t.node.UUID, err)
	if isSilence(err) {
		t.silent = t.Settings.AwayTimeout > 0
	}
	switch {
	case !sent:
	case err == nil, fault.Is(err, fault.Refused), fault.Is(err, fault.Busy), fault.Is(err, fault.Denied), bmc.IsNotSent(err):
		t.answered()
	case fault.NoAnswer(err) && !time.Now().Before(t.flight.until):
		t.flight.until = t.flight.until.Add(t.flight.until.Sub(t.flight.since))
		t.tellFlight = true
	}
	return err
}

// noteFlight adds to p what the next save records of the last request, and how long answers of the BMC are awaited.
func (t *task) noteFlight(p *node.Progress) {
	if t.tellFlight {
		p.InFlight = &node.BMCRequest{}
		if f := t.flight; f != nil {
			p.InFlight.Name, p.InFlight.Left, p.InFlight.Repeated = f.name, max(time.Until(f.until), 0), f.repeated
		}
	}
	if within := t.answerWithin(); within > t.within {
		p.AnswerWithin = within
	}
}

// answerWithin returns how long answers of the BMC are awaited now, 0 if the driver does not learn that.
func (t *task) answerWithin() time.Duration {
	if t.session == nil || t.session.AnswerWithin == nil {
		return 0
	}
	return t.session.AnswerWithin()
}

// asker sends the requests of a session that change something, one at a time, and notes what becomes of them.
type asker struct {
	bmc.Session
	t *task
}

// send sends the request name. What is sent first may have another name.
func (a asker) send(ctx context.Context, name string, send func() error) error {
	if _, err := a.t.awaitOthers(ctx, name); err != nil {
		return err
	}
	a.t.asking = false
	a.t.forgetPower()
	defer a.t.forgetPower() // what an event had read meanwhile
	began := time.Now()
	err := send()
	if isSilence(err) {
		a.t.awaited = time.Since(began)
	}
	return a.t.heard(err)
}

// RequestPower implements bmc.PowerControl.
func (a asker) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	return a.send(ctx, r.Name(), func() error { return a.Session.RequestPower(a.t.listening(ctx), r) })
}

// Restart implements bmc.Restarter.
func (a asker) Restart(ctx context.Context) error {
	return a.send(ctx, bmc.NameRestart, func() error { return a.Session.Restart(a.t.listening(ctx)) })
}

// InjectNMI implements bmc.Interrupter.
func (a asker) InjectNMI(ctx context.Context) error {
	return a.send(ctx, bmc.NameNMI, func() error { return a.Session.InjectNMI(a.t.listening(ctx)) })
}

// SetBoot implements bmc.BootDevice.
func (a asker) SetBoot(ctx context.Context, b bmc.Boot) error {
	return a.send(ctx, b.Name(), func() error { return a.Session.SetBoot(a.t.listening(ctx), b) })
}

// InsertMedia implements bmc.VirtualMedia.
func (a asker) InsertMedia(ctx context.Context, url string) error {
	return a.send(ctx, bmc.NameInsert(url), func() error { return a.Session.InsertMedia(a.t.listening(ctx), url) })
}

// EjectMedia implements bmc.VirtualMedia.
func (a asker) EjectMedia(ctx context.Context) error {
	return a.send(ctx, bmc.NameEject, func() error { return a.Session.EjectMedia(a.t.listening(ctx)) })
}

// SendRaw implements bmc.RawCommander.
func (a asker) SendRaw(ctx context.Context, command []byte) error {
	return a.send(ctx, bmc.NameRaw, func() error { return a.Session.SendRaw(a.t.listening(ctx), command) })
}

// RestartBMC implements bmc.ManagerRestarter.
func (a asker) RestartBMC(ctx context.Context, warm bool) error {
	return a.send(ctx, bmc.NameBMC, func() error { return a.Session.RestartBMC(a.t.listening(ctx), warm) })
}

// EjectDrives implements bmc.DriveEjector.
func (a asker) EjectDrives(ctx context.Context, kind string) error {
	return a.send(ctx, bmc.NameEjectDrives(kind), func() error { return a.Session.EjectDrives(a.t.listening(ctx), kind) })
}

// SetPassword implements bmc.Accounts.
func (a asker) SetPassword(ctx context.Context, user string, p bmc.NewPassword) error {
	return a.send(ctx, bmc.NameSetPassword(user, p.Mark), func() error { return a.Session.SetPassword(a.t.listening(ctx), user, p) })
}

// AddAccount implements bmc.Accounts.
func (a asker) AddAccount(ctx context.Context, user string, p bmc.NewPassword) error {
	return a.send(ctx, bmc.NameAddAccount(user), func() error { return a.Session.AddAccount(a.t.listening(ctx), user, p) })
}

// RemoveAccount implements bmc.Accounts.
func (a asker) RemoveAccount(ctx context.Context, user string) error {
	return a.send(ctx, bmc.NameRemoveAccount(user), func() error { return a.Session.RemoveAccount(a.t.listening(ctx), user) })
}

// SetBIOS implements bmc.BIOSControl.
func (a asker) SetBIOS(ctx context.Context, values map[string]any) error {
	return a.send(ctx, bmc.NameSetBIOS(values), func() error { return a.Session.SetBIOS(a.t.listening(ctx), values) })
}

// ResetBIOS implements bmc.BIOSControl.
func (a asker) ResetBIOS(ctx context.Context) error {
	return a.send(ctx, bmc.NameResetBIOS, func() error { return a.Session.ResetBIOS(a.t.listening(ctx)) })
}

// UpdateFirmware implements bmc.FirmwareControl.
func (a asker) UpdateFirmware(ctx context.Context, image bmc.FirmwareImage) (task string, err error) {
	err = a.send(ctx, bmc.NameUpdateFirmware(image.URL), func() (err error) {
		task, err = a.Session.UpdateFirmware(a.t.listening(ctx), image)
		return err
	})
	return task, err
}

// CreateSubscription implements bmc.Subscriber.
func (a asker) CreateSubscription(ctx context.Context, s node.EventSubscription, headers []any) (made bmc.Subscription, err error) {
	err = a.send(ctx, bmc.NameSubscribe, func() (err error) {
		made, err = a.Session.CreateSubscription(a.t.listening(ctx), s, headers)
		return err
	})
	return made, err
}

// DeleteSubscription implements bmc.Subscriber.
func (a asker) DeleteSubscription(ctx context.Context, id string) error {
	return a.send(ctx, bmc.NameUnsubscribe(id), func() error { return a.Session.DeleteSubscription(a.t.listening(ctx), id) })
}

// CreateVolume implements bmc.Volumes.
func (a asker) CreateVolume(ctx context.Context, v bmc.NewVolume) (task string, err error) {
	err = a.send(ctx, bmc.NameCreateVolume, func() (err error) {
		task, err = a.Session.CreateVolume(a.t.listening(ctx), v)
		return err
	})
	return task, err
}

// DeleteVolume implements bmc.Volumes.
func (a asker) DeleteVolume(ctx context.Context, path string) (task string, err error) {
	err = a.send(ctx, bmc.NameDeleteVolume(path), func() (err error) {
		task, err = a.Session.DeleteVolume(a.t.listening(ctx), path)
		return err
	})
	return task, err
}

// SetClock implements bmc.Clock.
func (a asker) SetClock(ctx context.Context, at time.Time, offset string) error {
	return a.send(ctx, bmc.NameSetClock, func() error { return a.Session.SetClock(a.t.listening(ctx), at, offset) })
}

// SetBootMode implements bmc.BootModes.
func (a asker) SetBootMode(ctx context.Context, m bmc.Mode) error {
	return a.send(ctx, bmc.NameBootMode(m), func() error { return a.Session.SetBootMode(a.t.listening(ctx), m) })
}

// SetSecureBoot implements bmc.BootModes.
func (a asker) SetSecureBoot(ctx context.Context, on bool) error {
	return a.send(ctx, bmc.NameSecureBoot(on), func() error { return a.Session.SetSecureBoot(a.t.listening(ctx), on) })
}

// SetIndicator implements bmc.Indicators.
func (a asker) SetIndicator(ctx context.Context, component, name, state string) error {
	return a.send(ctx, bmc.NameIndicator(component, name, state), func() error {
		return a.Session.SetIndicator(a.t.listening(ctx), component, name, state)
	})
}

// AttachMedia implements bmc.MediaDrives.
func (a asker) AttachMedia(ctx context.Context, kind, url string) error {
	return a.send(ctx, bmc.NameInsert(url), func() error { return a.Session.AttachMedia(a.t.listening(ctx), kind, url) })
}
