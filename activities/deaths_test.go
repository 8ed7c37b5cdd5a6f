package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// dyingConductors are conductors that are named by their numbers.
type dyingConductors struct {
	*bench
	n int
}

func newDyingConductors(t *testing.T) *dyingConductors {
	m := &dyingConductors{bench: newBench(t, node.KindPower, node.Active, bmc.PowerOff, direct, plan.Options{Power: node.PowerOn})}
	m.book.op.Phase = node.Running
	return m
}

// dies ends the conductor at work: nothing that it does from now on has an effect.
func (m *dyingConductors) dies() error {
	m.book.mu.Lock()
	defer m.book.mu.Unlock()
	m.book.dead[m.steps.Settings.Conductor], m.book.gone = true, true
	return errGone
}

// next lets the next conductor try, some seconds later.
func (m *dyingConductors) next() (conductor.StepsResult, error) {
	m.n++
	m.steps.Settings.Conductor = fmt.Sprintf("c%d", m.n)
	m.book.gone = false
	m.later(6 * time.Second)
	return m.run()
}

// heard lets conductors send heartbeats again.
func (m *dyingConductors) heard(names ...string) {
	for _, name := range names {
		m.book.dead[name], m.book.heard[name] = false, sign{at: m.book.clock.Add(time.Second)}
	}
}

func (m *dyingConductors) later(d time.Duration) { m.book.clock = m.book.clock.Add(d) }

func (m *dyingConductors) step() node.Step { return m.book.op.Steps[0] }

// die lets so many conductors die, one after the other.
func (m *dyingConductors) die(times int) {
	for range times {
		_, err := m.next()
		require.ErrorContains(m, err, errGone.Error())
	}
}

func TestAStepThatItsConductorsDieOfIsPutOffAndThenHeld(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.machine.onPowerRead = m.dies
	m.die(3)
	require.Zero(t, m.step().PutOffs, "the first two hand it over at once")
	for i, wait := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		r, err := m.next()
		require.NoError(t, err)
		require.Equal(t, conductor.NextReady, r.Next)
		require.Equal(t, m.book.clock.Add(wait), *m.step().NotBefore)
		require.Len(t, m.step().Deaths, 3+i)
		require.Equal(t, i+1, m.step().PutOffs)
		require.Contains(t, m.step().LastError, fmt.Sprintf("%d conductors in a row died within 10s of taking up step power.on: c1 at ", 3+i))
		require.True(t, m.book.op.Rests)
		require.Contains(t, r.Steps[0].LastError, "conductors in a row died", "Temporal's page says so")
		m.later(wait / 2)
		r, err = m.next()
		require.NoError(t, err)
		require.Equal(t, conductor.NextReady, r.Next, "not yet")
		require.Len(t, m.step().Deaths, 3+i, "who only looks does not die")
		m.later(wait)
		m.die(1)
	}
	r, err := m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextFailed, r.Next)
	require.True(t, r.Hold)
	require.Equal(t, 3, m.step().PutOffs)
	require.Contains(t, r.Error, "6 conductors in a row died within 10s of taking up step power.on: c1 at ")
	require.Empty(t, m.machine.asked)

	r, err = m.next()
	require.NoError(t, err)
	require.True(t, r.Hold, "whoever asks again is told the same")

	m.book.op.Steps[0].Again() // a person has decided to retry
	m.machine.onPowerRead = nil
	r, err = m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, m.machine.asked)
}

func TestAnUndoOfWhatIsOwedIsNeverHeld(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.book.op.Kind = node.KindUndo
	m.machine.onPowerRead = m.dies
	m.book.op.Steps[0].Deaths = make([]node.Death, 5)
	for i := range m.book.op.Steps[0].Deaths {
		m.book.op.Steps[0].Deaths[i].Conductor = "c0"
	}
	m.book.dead["c0"] = true
	m.die(1)
	r, err := m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextFailed, r.Next)
	require.False(t, r.Hold, "it would keep the node; reconciliation tries again at growing pauses")
}

func TestWhatIsNoDeathOfTheStepIsNotCounted(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*dyingConductors){
		"its conductor lives": func(m *dyingConductors) { m.book.dead["c2"] = false },
		"it handed it over":   func(m *dyingConductors) { m.book.empty = false },
		"it lasted":           func(m *dyingConductors) { m.book.lived = 11 * time.Second; m.later(time.Minute) },
		"the first two have proved to live": func(m *dyingConductors) {
			m.die(1)
			m.heard("c1", "c2")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newDyingConductors(t)
			m.machine.onPowerRead = m.dies
			m.die(2)
			require.Len(t, m.step().Deaths, 1, "of the first, found by the second")
			then(m)
			m.die(1)
			m.book.lived = 0
			m.die(1)
			require.Zero(t, m.step().PutOffs)
			require.LessOrEqual(t, len(m.step().Deaths), 2)
		})
	}
}

func TestProgressAndFailureBeginTheCountAnew(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]func(*dyingConductors){
		"a request was sent": func(m *dyingConductors) {
			m.machine.onPowerRead = nil
			m.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, m.dies() }
		},
		"it failed": func(m *dyingConductors) { m.machine.onPowerRead = nil; m.machine.silent = true },
	} {
		t.Run(name, func(t *testing.T) {
			m := newDyingConductors(t)
			m.machine.onPowerRead = m.dies
			m.die(3)
			require.Len(t, m.step().Deaths, 2)
			once(m)
			m.book.op.Steps[0].Deaths = m.book.op.Steps[0].Deaths[:1] // so that this try is not put off
			_, err := m.next()
			require.Error(t, err)
			require.Empty(t, m.step().Deaths)
			m.machine.onPowerRead, m.machine.silent = m.dies, false
			m.die(2)
			require.Len(t, m.step().Deaths, 1)
		})
	}
}

// If a conductor dies while it works on a slow server that answers, the step is not blamed. But this has a limit.
func TestAnAnswerOfTheHardwareIsASignOfLifeAFewTimes(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	looks := 0
	m.machine.onPowerRead = func() error {
		if looks++; looks == 3 { // the first look sees that an earlier try's request has not taken effect yet
			return m.dies()
		}
		return nil
	}
	m.machine.answer = func(bmc.PowerRequest) (bool, error) { return false, nil }
	m.steps.Settings.PowerSettle, m.steps.Settings.PowerTimeout = time.Hour, time.Hour
	tries := 0
	for ; m.step().PutOffs == 0; tries++ {
		require.Less(t, tries, 30)
		looks = 0
		_, _ = m.next()
	}
	require.Greater(t, tries, 8)
}

func TestAPowerRequestIsDoneWhileTheStepIsPutOff(t *testing.T) {
	t.Parallel()
	b := newBench(t, node.KindDeploy, node.DeployWait, bmc.PowerOff, direct, plan.Options{})
	later := b.book.clock.Add(time.Minute)
	b.book.op.Steps[0].State, b.book.op.Steps[0].NotBefore, b.book.op.Steps[0].Deaths = node.StepRunning, &later, make([]node.Death, 3)
	b.book.op.Asked, b.book.op.AskedPower = node.AskPower, node.PowerOn
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
	require.Equal(t, later, *b.book.op.CurrentStep().NotBefore)
}

func TestAnOperationInMaintenanceIsNotPutOffButEndedWhereItsConductorDied(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.book.op.Kind = node.KindDeploy
	m.book.op.Steps[0].Interface = "deploy" // the step of a power request would run in maintenance, too
	m.book.op.Steps[0].State = node.StepRunning
	m.book.op.Steps[0].Deaths = []node.Death{{Conductor: "c0"}, {Conductor: "c0"}}
	m.book.op.Conductor, m.book.op.ClaimedAt, m.book.empty, m.book.op.Paused = "c0", &m.book.clock, true, true
	m.book.dead["c0"] = true
	r, err := m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextOrphaned, r.Next)
}

func TestAnUndoThatItsConductorsDieOfIsOwed(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.book.op.Undo = []node.Undo{node.UndoPowerOff}
	m.machine.onPowerRead, m.machine.power = m.dies, bmc.PowerOn
	undo := func() error {
		m.n++
		m.steps.Settings.Conductor, m.book.gone = fmt.Sprintf("c%d", m.n), false
		m.later(6 * time.Second)
		return m.undo()
	}
	for range 3 {
		require.ErrorContains(t, undo(), errGone.Error())
	}
	err := undo()
	require.ErrorContains(t, err, "3 conductors in a row died within 10s of taking up the undo: c1 at ")
	require.True(t, final(err))
}
