package activities_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// rom is the firmware of a machine.
type rom struct {
	versions map[string]string
	next     map[string]string // what the next boot installs
	images   map[string][2]string
	updates  []string // the URLs that it was sent
	tasks    map[string]bmc.Task
	order    []string
	answer   error // to an update that is begun
	refuses  error // no update is begun
	noTask   bool  // it does not say where the task is
	ignores  bool  // updates change nothing
	fails    bool  // tasks fail
	waits    bool  // tasks wait for a boot
	forgets  bool  // it does not know its tasks any more
	hides    bool  // it lists no tasks
	late     bool  // it does so until it was asked for its versions after the update
	pushed   bool  // it wants the image with the request
	busy     int   // so many more looks see it at work, during which no boot may come
	busyAs   bmc.TaskState
	ruined   bool // one did
	silent   int  // so many of the next readings get no answer
}

// looks reports whether a look sees it at work.
func (r *rom) looks() bool {
	if r.busy == 0 || len(r.order) == 0 {
		return false
	}
	r.busy--
	return true
}

func (r *rom) boot() {
	r.ruined = r.ruined || r.busy > 0
	maps.Copy(r.versions, r.next)
	r.next = map[string]string{}
	for path, t := range r.tasks {
		if t.State == bmc.TaskWaits {
			r.tasks[path] = bmc.Task{State: bmc.TaskEnded, Word: "Completed", Percent: 100}
		}
	}
}

type romSession struct {
	*session
	rom *rom
}

func (s romSession) quiet() error {
	if s.rom.silent > 0 {
		s.rom.silent--
		return fault.CodedAs(fault.Unreachable, fault.BMCBadAnswer, "it restarts")
	}
	return nil
}

func (s romSession) Firmware(context.Context) (all []bmc.FirmwareVersion, err error) {
	if s.rom.looks() {
		s.rom.late = false
	}
	for _, c := range []string{"bios", "bmc", "nic:1"} {
		all = append(all, bmc.FirmwareVersion{Component: c, Version: s.rom.versions[c]})
	}
	return all, s.quiet()
}

func (s romSession) UpdateFirmware(ctx context.Context, of bmc.FirmwareImage) (string, error) {
	url := of.URL
	if s.rom.pushed {
		if _, err := of.Open(ctx); err != nil {
			return "", bmc.NotSent(err)
		}
	}
	if err := s.write(ctx, bmc.NameUpdateFirmware(url)); err != nil {
		return "", err
	}
	if s.rom.refuses != nil {
		return "", s.rom.refuses
	}
	s.rom.updates = append(s.rom.updates, url)
	image, path := s.rom.images[url], "/tasks/"+string(rune('a'+len(s.rom.order)))
	s.rom.order = append(s.rom.order, path)
	task := bmc.Task{State: bmc.TaskEnded, Word: "Completed", Percent: 100}
	switch {
	case s.rom.fails:
		task = bmc.Task{State: bmc.TaskFailed, Word: "Exception", Messages: "wrong machine"}
	case s.rom.ignores:
	case image[0] == "bios":
		s.rom.next["bios"] = image[1]
	default:
		s.rom.versions[image[0]] = image[1]
	}
	if s.rom.waits {
		task = bmc.Task{State: bmc.TaskWaits, Word: "Pending", Percent: 0}
	}
	s.rom.tasks[path] = task
	if s.onUpdate != nil {
		s.onUpdate()
	}
	if s.rom.noTask {
		path = ""
	}
	return path, s.rom.answer
}

func (s romSession) Tasks(context.Context) ([]string, error) {
	if s.rom.hides || s.rom.late {
		return nil, nil
	}
	return slices.Clone(s.rom.order), nil
}

func (s romSession) RunningTasks(ctx context.Context) ([]string, error) { return s.Tasks(ctx) }

func (s romSession) Task(_ context.Context, path string) (bmc.Task, error) {
	if s.rom.forgets {
		return bmc.Task{}, fault.New(fault.NotFound, "no task")
	}
	if s.rom.looks() {
		return bmc.Task{State: s.rom.busyAs, Word: "Busy", Percent: -1}, nil
	}
	return s.rom.tasks[path], s.quiet()
}

func image(component string) string { return "http://images/" + component }

func order(component string) map[string]any {
	return map[string]any{"component": component, "url": image(component)}
}

// firmwareBench cleans a node by hand with an update of firmware, without an agent.
func firmwareBench(t *testing.T, settings ...any) (*bench, *rom) {
	t.Helper()
	interfaces := maps.Clone(direct)
	interfaces["firmware"] = "redfish"
	asked := node.Step{Interface: "firmware", Step: "update", Asked: true, Args: map[string]any{"settings": settings}}
	b := newBench(t, node.KindClean, node.Cleaning, bmc.PowerOff, interfaces, plan.Options{DisableRamdisk: true}, asked)
	r := &rom{
		versions: map[string]string{"bios": "1.0", "bmc": "2.0", "nic:1": "3.0"}, next: map[string]string{}, tasks: map[string]bmc.Task{},
		images: map[string][2]string{image("bios"): {"bios", "1.1"}, image("bmc"): {"bmc", "2.1"}, image("nic:1"): {"nic:1", "3.1"}},
	}
	b.machine.rom = r
	s := &b.steps.Settings
	s.FirmwareTimeout, s.FirmwareSettle, s.FirmwareStart, s.FirmwarePoll = time.Minute, 20*time.Millisecond, time.Millisecond, 2*time.Millisecond
	return b, r
}

// versions returns the firmware that clients can list.
func (b *bench) versions() (out []node.FirmwareComponent) {
	b.Helper()
	r, err := b.book.KeptReading(b.Context(), b.node().ID, "firmware")
	require.NoError(b, err)
	require.NotNil(b, r)
	var reading node.FirmwareReading
	require.NoError(b, jsonvalue.Unmarshal(r.Data, &reading))
	return reading.Components
}

// again runs the step as if its conductor had died before it recorded the end of the step.
func (b *bench) again() error {
	b.Helper()
	b.changeOp(func(o *node.Operation) { o.Steps[0].State = node.StepRunning })
	b.steps.Settings.Conductor = "c2"
	_, err := b.run()
	return err
}

func TestFirmwareIsUpdatedFollowedAndReadBack(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rom){
		"tasks that end":             func(*rom) {},
		"no tasks":                   func(r *rom) { r.noTask = true },
		"tasks that wait for a boot": func(r *rom) { r.waits = true },
		"tasks that the BMC forgets": func(r *rom) { r.forgets = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := firmwareBench(t, order("bmc"), order("BIOS"), order("nic:1"))
			r.images[image("BIOS")] = r.images[image("bios")]
			change(r)
			if r.waits { // no boot of the server updates a BMC
				b, r = firmwareBench(t, order("bios"), order("nic:1"))
				r.waits = true
			}
			res, err := b.run()
			require.NoError(t, err)
			require.Equal(t, conductor.NextClose, res.Next)
			require.Equal(t, "1.1", r.versions["bios"])
			require.Equal(t, "3.1", r.versions["nic:1"])
			sent := len(r.updates)
			require.NoError(t, b.again())
			require.Len(t, r.updates, sent, "nothing is sent twice")
			require.Contains(t, b.versions(), node.FirmwareComponent{Component: "bios", Initial: "1.0", Current: "1.1", Flashed: "1.1"})
		})
	}
}

func TestAnUpdateOfFirmwareIsSentOnceIfItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	lost := fault.New(fault.Unreachable, "%w", fault.NoAnswerError("no answer in time"))
	b, r := firmwareBench(t, order("bmc"))
	r.answer, r.order = lost, []string{"/tasks/old"}
	_, err := b.run()
	require.Error(t, err)
	require.Equal(t, bmc.NameUpdateFirmware(image("bmc")), b.op().Steps[0].Issued.Command)
	require.Equal(t, []string{"/tasks/old"}, b.op().Steps[0].Issued.Known)
	require.NoError(t, b.again())
	require.Len(t, r.updates, 1)
	require.Equal(t, "2.1", r.versions["bmc"])
	require.Equal(t, "2.1", b.op().Steps[0].Updates[0].After)

	// Nobody knows whether the BMC has begun it: a person has to look.
	b, r = firmwareBench(t, order("bios"))
	r.refuses = lost
	_, err = b.run()
	require.Error(t, err)
	r.refuses = nil
	err = b.again()
	require.ErrorContains(t, err, "its outcome is unknown")
	require.True(t, final(err))
	require.Empty(t, r.updates)
	b.changeOp(func(o *node.Operation) { o.Steps[0].Again() })
	require.NoError(t, b.again())
	require.Len(t, r.updates, 1)
}

func TestAnUpdateOfFirmwareThatChangesNothingHolds(t *testing.T) {
	t.Parallel()
	b, r := firmwareBench(t, order("nic:1"))
	r.ignores = true
	res, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextFailed, res.Next)
	require.True(t, res.Hold, "whatever on_failure says")
	require.Equal(t, fault.FirmwareUnchanged, res.Cause)
	require.Contains(t, res.Error, "the update of nic:1 with nic:1, and the version is still 3.0")
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked, "a boot might have applied it")

	b.changeOp(func(o *node.Operation) { o.Steps[0].Again() })
	r.ignores = false
	require.NoError(t, b.again())
	require.Len(t, r.updates, 2, "a person has decided to send it again")
	require.Equal(t, "3.1", r.versions["nic:1"])

	b, r = firmwareBench(t, order("nic:1"))
	r.ignores = true
	_, err = b.run()
	require.NoError(t, err)
	b.changeOp(func(o *node.Operation) { o.Steps[0].Again() })
	r.versions["nic:1"] = "3.1" // somebody has taken the server's power away
	require.NoError(t, b.again())
	require.Len(t, r.updates, 1)
	require.Contains(t, b.versions(), node.FirmwareComponent{Component: "nic:1", Initial: "3.0", Current: "3.1", Flashed: "3.1"})
}

func TestAnUpdateOfFirmwareThatFails(t *testing.T) {
	t.Parallel()
	b, r := firmwareBench(t, order("bios"))
	r.fails = true
	_, err := b.run()
	require.True(t, final(err))
	require.Equal(t, fault.FirmwareFailed, b.op().Steps[0].Cause)
	require.Contains(t, b.op().Steps[0].LastError, "ended as Exception: wrong machine")
	require.Empty(t, b.machine.asked)
	r.fails = false
	b.changeOp(func(o *node.Operation) { o.Steps[0].Again() })
	require.NoError(t, b.again())
	require.Len(t, r.updates, 2)

	b, r = firmwareBench(t, order("bios"))
	r.refuses = fault.New(fault.Refused, "no licence")
	_, err = b.run()
	require.True(t, final(err))
	require.Equal(t, fault.FirmwareRefused, b.op().Steps[0].Cause)

	b, r = firmwareBench(t, map[string]any{"component": "nic:9", "url": "http://a/b"})
	_, err = b.run()
	require.True(t, final(err))
	require.Contains(t, b.op().Steps[0].LastError, "no firmware component nic:9; it has bios, bmc")
	require.Equal(t, fault.StepArgumentWrong, b.op().Steps[0].Cause)
	require.Empty(t, r.updates)
}

// A BMC that updates itself restarts. It is read until it has another version.
func TestABMCThatIsAwayWhileItUpdatesItselfIsAwaited(t *testing.T) {
	t.Parallel()
	b, r := firmwareBench(t, order("bmc"))
	b.steps.Settings.FirmwareSettle = 5 * time.Second
	ended := false
	b.machine.onUpdate = func() { r.silent, ended = 6, true }
	_, err := b.run()
	require.NoError(t, err)
	require.True(t, ended)
	require.Zero(t, r.silent)
	require.Equal(t, "2.1", b.op().Steps[0].Updates[0].After)
	require.Empty(t, b.machine.asked, "the server runs on")
}

// A server that is switched off while its firmware is written may be lost.
func TestAServerIsNotBootedWhileItsFirmwareMayBeWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bench, *rom){
		"a task that the BMC has not named": func(_ *bench, r *rom) { r.noTask = true },
		"a task that it lists late": func(b *bench, r *rom) {
			r.noTask, r.late, r.busy, b.steps.Settings.FirmwareSettle = true, true, 40, 20*time.Millisecond
		},
		"no task at all":            func(_ *bench, r *rom) { r.noTask, r.hides = true, true },
		"a task that it has forgot": func(_ *bench, r *rom) { r.forgets = true },
		"a task that begins after a long upload": func(b *bench, r *rom) {
			r.order, r.tasks["/tasks/a"], r.next["bios"] = []string{"/tasks/a"}, bmc.Task{State: bmc.TaskEnded}, "1.1"
			r.updates, r.busyAs, b.steps.Settings.FirmwareStart, b.steps.Settings.FirmwareTimeout = []string{image("bios")}, bmc.TaskWaits, time.Minute, time.Hour
			sent := time.Now().UTC().Add(-10 * time.Minute)
			b.changeOp(func(o *node.Operation) {
				o.Steps[0].Updates = []node.FirmwareUpdate{{Component: "bios", Before: "1.0", Sent: &sent, Task: "/tasks/a"}}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := firmwareBench(t, order("bios"))
			b.machine.power, b.steps.Settings.FirmwareSettle = bmc.PowerOn, 300*time.Millisecond
			r.busy, r.busyAs = 5, bmc.TaskRuns
			change(b, r)
			_, err := b.run()
			require.NoError(t, err)
			require.False(t, r.ruined)
			require.Equal(t, "1.1", r.versions["bios"])
			require.Equal(t, []bmc.PowerRequest{bmc.RequestForceOff, bmc.RequestOn}, b.machine.asked)
			require.Len(t, r.updates, 1)
		})
	}
}

// Fetching an image takes long, and nothing is sent meanwhile.
func TestAnUpdateWhoseConductorDiesWhileItFetchesTheImageIsSent(t *testing.T) {
	t.Parallel()
	b, r := firmwareBench(t, order("bmc"))
	r.pushed = true
	alive, dies := b.steps.Store, &mortal{book: b.book, at: 1000}
	b.steps.Store = conductor.CountLostClaims(dies, func(string) {})
	fetched := 0
	b.steps.FetchFirmware = func(context.Context, string, string) (bmc.FirmwareFile, error) {
		if fetched++; fetched == 1 {
			dies.at = 1
			return nil, context.Canceled
		}
		return nil, nil //nolint:nilnil // the machine does not read it
	}
	_, err := b.run()
	require.Error(t, err)
	require.True(t, dies.dead)
	require.NotNil(t, b.op().Steps[0].Issued, "it is recorded")
	b.steps.Store = alive
	require.NoError(t, b.again())
	require.Len(t, r.updates, 1)
	require.Equal(t, "2.1", r.versions["bmc"])
}
