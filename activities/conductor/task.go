package conductor

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"go.temper.dev/temper/activities"
	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/secret"
)

// task is one attempt at an operation's steps: the node, the operation, and the claim that
// all writes and requests name.
type task struct {
	*Steps
	node   *node.Node
	op     *node.Operation
	saved  node.Operation // op as its row has it
	claim  node.Claim
	tried  []string // conductors that the hardware did not answer in this round
	first  bool     // Temporal has begun no attempt at this activity before
	driver bmc.Driver
	log    *zap.Logger

	driverInfo   map[string]any // with decrypted secrets
	instanceInfo map[string]any
	sealed       node.Secrets
	password     *node.PendingPassword // that the BMC may have instead of the node's; nil = none
	session      *bmc.Session          // nil until it is needed
	flight       *inFlight             // the last request to the BMC, until it can't take effect any more; nil = there is none
	asking       bool                  // the call of a capability has sent flight, and goes on
	tellFlight   bool                  // flight has changed since it was recorded
	silent       bool                  // the BMC gave no answer when it was asked last, by whatever conductor
	mayAskNow    bool                  // it is the turn of this attempt to ask a BMC that is silent
	awaited      time.Duration         // how long the last answer that did not come was awaited
	within       time.Duration         // how long answers of the BMC are awaited, as it is recorded or was when the session was opened
	agentClient  Agent

	// pending is written by the next save.
	pending    node.Progress
	power      node.PowerState           // as last read or written here
	seen       bmc.Power                 // the power state that this attempt read last
	seenAt     time.Time                 // when; zero = not since something was sent
	powerAt    time.Time                 // when pending.Power was read
	lastWait   atomic.Pointer[node.Wait] // a copy of op.StepWait, for reportLater
	toldAt     time.Time                 // when the row got what the step waits for, or the step began
	holds      bool                      // the step has failed of a cause that only a person can judge
	undoes     bool                      // it runs Undo, not a step
	positions  []string                  // how far the steps were when they were last saved
	progressed bool                      // progress was made under the claim
}

func newTask(s *Steps, n *node.Node, c node.Claim, d bmc.Driver, sealed node.Secrets) *task {
	t := &task{
		Steps: s, node: n, op: n.Operation, claim: c, driver: d,
		driverInfo:   secret.DriverInfo(n, sealed),
		instanceInfo: secret.InstanceInfo(n, sealed),
		sealed:       sealed,
		password:     node.AsPendingPassword(sealed[node.PendingPasswordSecret]),
		power:        n.PowerState,
	}
	t.saved = t.op.Snapshot()
	if t.op.Blocked != node.NotBlocked { // it has a conductor now
		t.op.WaitingFor, t.op.WaitingUntil = "", nil
	}
	t.op.Conductor = s.Settings.Conductor
	t.positions = positionsOf(t.op)
	t.takeInFlight()
	t.silent = t.wasSilent()
	t.log = s.Log.With(zap.String("node", n.UUID), zap.Int64("operation", t.op.ID), zap.String("workflow", t.op.WorkflowID))
	return t
}

func (t *task) close() {
	if t.session != nil {
		t.session.Close()
	}
	if t.agentClient != nil {
		t.agentClient.Close()
	}
}

// move makes the next save move the node.
func (t *task) move(e node.Event) { t.pending.Move = e }

// addNews adds an entry to the operation's timeline with the next save.
func (t *task) addNews(what node.TimelineWhat, step *node.Step, words string) {
	t.pending.News = append(t.pending.News, node.News{What: what, Step: step.Name(), Words: words})
}

// guard checks the claim right before a request to an agent.
func (t *task) guard(ctx context.Context) error {
	asked, err := t.Store.CheckClaim(ctx, t.op.ID, t.claim)
	if err == nil {
		t.op.SetPendingAsk(asked)
	}
	return err
}

// bmc returns the session with the node's BMC, which it opens at the first call.
func (t *task) bmc(ctx context.Context) (bmc.Session, error) {
	if t.session != nil {
		return *t.session, nil
	}
	if err := t.mayAsk(ctx); err != nil {
		return bmc.Session{}, err
	}
	if p := t.password; p != nil && p.Operation != t.op.ID { // an earlier operation has left it
		if _, err := t.settlePassword(ctx, nil); err != nil {
			return bmc.Session{}, err
		}
		t.undone(node.UndoBMCPassword)
	}
	s, err := t.driver.Open(ctx, bmc.Target{
		Node: t.node.UUID, Info: t.driverInfo, LastPower: powerOf(t.node.PowerState),
		Guard: t.permit, Await: t.await, AnswerWithin: t.op.AnswerWithin,
	})
	if err != nil {
		return bmc.Session{}, err
	}
	t.session = &s
	t.within = t.answerWithin()
	return s, nil
}

func (t *task) powerControl(ctx context.Context) (bmc.PowerControl, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.PowerControl](t, s.PowerControl, asker{s, t}, "power", err)
}

func (t *task) restartControl(ctx context.Context) (bmc.Restarter, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Restarter](t, s.Restarter, asker{s, t}, "restarting a server that must not be switched off", err)
}

func (t *task) bootDevice(ctx context.Context) (bmc.BootDevice, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.BootDevice](t, s.BootDevice, asker{s, t}, "boot devices", err)
}

func (t *task) interrupter(ctx context.Context) (bmc.Interrupter, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Interrupter](t, s.Interrupter, asker{s, t}, node.StepInjectNMI, err)
}

func (t *task) rawCommander(ctx context.Context) (bmc.RawCommander, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.RawCommander](t, s.RawCommander, asker{s, t}, node.StepSendRaw, err)
}

func (t *task) managerRestarter(ctx context.Context) (bmc.ManagerRestarter, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.ManagerRestarter](t, s.ManagerRestarter, asker{s, t}, node.StepResetBMC, err)
}

func (t *task) driveEjector(ctx context.Context) (bmc.DriveEjector, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.DriveEjector](t, s.DriveEjector, asker{s, t}, node.StepEjectMedia, err)
}

func (t *task) subscriber(ctx context.Context) (bmc.Subscriber, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Subscriber](t, s.Subscriber, asker{s, t}, "event subscriptions", err)
}

func (t *task) accounts(ctx context.Context) (bmc.Accounts, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Accounts](t, s.Accounts, asker{s, t}, changingPassword, err)
}

func (t *task) biosControl(ctx context.Context) (bmc.BIOSControl, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.BIOSControl](t, s.BIOSControl, asker{s, t}, "BIOS settings", err)
}

// volumeControl makes volumes, and says how far the tasks for them are.
type volumeControl interface {
	bmc.Volumes
	bmc.TaskReader
}

func (t *task) volumes(ctx context.Context) (volumeControl, error) {
	s, err := t.bmc(ctx)
	return capability[volumeControl](t, s.Volumes, asker{s, t}, "raid", err)
}

// firmwareControl updates firmware, and says how far the tasks for that are.
type firmwareControl interface {
	bmc.FirmwareControl
	bmc.TaskReader
}

func (t *task) firmwareControl(ctx context.Context) (firmwareControl, error) {
	s, err := t.bmc(ctx)
	return capability[firmwareControl](t, s.FirmwareControl, asker{s, t}, "updates of firmware", err)
}

func (t *task) bootModes(ctx context.Context, what string) (bmc.BootModes, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.BootModes](t, s.BootModes, asker{s, t}, what, err)
}

func (t *task) clock(ctx context.Context) (bmc.Clock, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Clock](t, s.Clock, asker{s, t}, node.StepSetBMCClock, err)
}

func (t *task) indicators(ctx context.Context) (bmc.Indicators, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Indicators](t, s.Indicators, asker{s, t}, node.StepSetIndicator, err)
}

func (t *task) mediaDrives(ctx context.Context) (bmc.MediaDrives, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.MediaDrives](t, s.MediaDrives, asker{s, t}, node.StepAttachMedia, err)
}

func (t *task) virtualMedia(ctx context.Context) (bmc.VirtualMedia, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.VirtualMedia](t, s.VirtualMedia, asker{s, t}, "virtual media", err)
}

func (t *task) inspector(ctx context.Context) (bmc.Inspector, error) {
	s, err := t.bmc(ctx)
	return capability[bmc.Inspector](t, s.Inspector, asker{s, t}, "inspection", err)
}

// capability returns c, or else why there is none: err, or that the node's driver, which has it, lacks it.
func capability[T any](t *task, has any, c T, what string, err error) (T, error) {
	var none T
	if err == nil && has == nil {
		err = t.node.Unsupported(what)
	}
	if err != nil {
		return none, err
	}
	return c, nil
}

// agent returns the client of the ramdisk agent of this boot, which it opens at the first call.
func (t *task) agent(ctx context.Context) (Agent, error) {
	if t.agentClient != nil {
		return t.agentClient, nil
	}
	if t.node.Agent == nil || t.node.Agent.URL == "" {
		return nil, fault.Coded(fault.AgentGone, "the node has no agent: none called since the server was booted")
	}
	// The agent may switch the server off, and a request to switch it on that comes then must not undo that.
	if _, err := t.awaitOthers(ctx, ""); err != nil {
		return nil, err
	}
	token, err := t.Store.AgentToken(ctx, t.node.UUID)
	if err != nil {
		return nil, err
	}
	c, err := t.OpenAgent(agent.Target{
		Node: t.node.UUID, URL: t.node.Agent.URL, Token: token, VerifyCA: t.node.Agent.VerifyCA, Guard: t.guard,
	}, t.Settings.Agent)
	if err != nil {
		return nil, err
	}
	t.agentClient = c
	return c, nil
}

// addUndo adds what has to be undone if the operation fails from here on.
func (t *task) addUndo(undo ...node.Undo) {
	t.op.Undo = node.WithUndo(t.op.Undo, undo)
}

// undone removes undos that are no longer needed, from those of this operation and from those
// that earlier operations left.
func (t *task) undone(undo ...node.Undo) {
	for _, u := range undo {
		if slices.Contains(t.node.Owed, u) {
			t.pending.OwedDone = append(t.pending.OwedDone, u)
		}
	}
	t.node.ClearOwed(undo)
	t.op.Undo = node.WithoutUndo(t.op.Undo, undo)
}

func (t *task) result(next Next) StepsResult {
	r := StepsResult{Next: next, Conductor: t.Settings.Conductor, Until: t.op.WaitingUntil}
	if s := t.op.CurrentStep(); next == NextFailed && s != nil {
		r.Error, r.Cause, r.Hold = s.LastError, s.Cause, s.NeedsDecision() && !t.op.Kind.Spec().Undoes
	}
	r.Steps = activities.StepLines(t.op.Steps)
	if next == NextAgent {
		r.StepWait = t.op.StepWait
	}
	return r
}

// backoff returns the pauses between two reads: short ones first, because most changes are
// quick, growing up to most.
func backoff(most time.Duration) func() time.Duration {
	p := most / 10
	return func() time.Duration {
		now := p
		p = min(p*3/2, most)
		return now
	}
}

// sleep waits for d. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func powerOf(p node.PowerState) bmc.Power {
	switch p {
	case node.PowerOn:
		return bmc.PowerOn
	case node.PowerOff:
		return bmc.PowerOff
	}
	return bmc.PowerUnknown
}

func stateOf(p bmc.Power) node.PowerState {
	switch p {
	case bmc.PowerOn, bmc.PoweringOff:
		return node.PowerOn
	case bmc.PowerOff, bmc.PoweringOn:
		return node.PowerOff
	}
	return ""
}
