package activities_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// errGone is the error for a conductor that counts as dead.
var errGone = fault.New(fault.Lost, "nobody hears it")

// dyingConductors are conductors that are named by their numbers.
type dyingConductors struct {
	*bench
	n     int
	store *cutOff
	born  map[string]int64 // the process of each
	lives string           // the one that goes on sending heartbeats
}

// cutOff is the database of a conductor that does nothing any more once it is gone.
type cutOff struct {
	*book
	gone bool
}

func (c *cutOff) CheckClaim(ctx context.Context, id int64, claim node.Claim) (node.Ask, error) {
	if c.gone {
		return "", errGone
	}
	return c.book.CheckClaim(ctx, id, claim)
}

func (c *cutOff) StartRequest(ctx context.Context, id int64, claim node.Claim, r node.BMCRequest) (node.Ask, error) {
	if c.gone {
		return "", errGone
	}
	return c.book.StartRequest(ctx, id, claim, r)
}

func (c *cutOff) TellWait(ctx context.Context, known *node.Operation, claim node.Claim, w *node.Wait) (node.Ask, error) {
	if c.gone {
		return "", errGone
	}
	return c.book.TellWait(ctx, known, claim, w)
}

func (c *cutOff) SaveSteps(ctx context.Context, id int64, claim node.Claim, p node.Progress) (node.Ask, error) {
	if c.gone {
		return "", errGone
	}
	return c.book.SaveSteps(ctx, id, claim, p)
}

func newDyingConductors(t *testing.T) *dyingConductors {
	m := &dyingConductors{bench: newBench(t, node.KindPower, node.Active, bmc.PowerOff, direct, plan.Options{Power: node.PowerOn}), born: map[string]int64{}}
	m.store = &cutOff{book: m.book}
	m.steps.Store = m.store
	return m
}

// dies ends the conductor at work: nothing that it does from now on has an effect.
func (m *dyingConductors) dies() error {
	m.store.gone = true
	return errGone
}

// starts starts the process of a conductor, which covers no node: nobody is to pass the step on to it.
func (m *dyingConductors) starts(name string) {
	m.Helper()
	var err error
	m.born[name], err = m.book.RegisterConductor(m.Context(), coverage.Conductor{Hostname: name})
	require.NoError(m, err)
}

// arrives starts the next conductor, some seconds later.
func (m *dyingConductors) arrives() {
	m.Helper()
	m.later(6 * time.Second)
	if m.lives != "" {
		m.heard(m.lives)
	}
	m.n++
	m.steps.Settings.Conductor, m.store.gone = fmt.Sprintf("c%d", m.n), false
	m.starts(m.steps.Settings.Conductor)
}

// next lets the next conductor try.
func (m *dyingConductors) next() (conductor.StepsResult, error) {
	m.Helper()
	m.arrives()
	return m.run()
}

// heard lets conductors send heartbeats again.
func (m *dyingConductors) heard(names ...string) {
	m.Helper()
	for _, name := range names {
		_, err := m.book.HeartbeatConductor(m.Context(), name, m.born[name], true)
		require.NoError(m, err)
	}
}

// later lets so much time pass: what was recorded is that much older.
func (m *dyingConductors) later(d time.Duration) {
	m.Helper()
	m.changeOp(func(o *node.Operation) {
		older(o.ClaimedAt, d)
		for i := range o.Steps {
			s := &o.Steps[i]
			older(s.NotBefore, d)
			for _, deaths := range [][]node.Death{s.Deaths, s.UndoDeaths} {
				for k := range deaths {
					older(&deaths[k].At, d)
				}
			}
		}
	})
	m.book.raw(`UPDATE conductors SET heartbeat_at = heartbeat_at - @d::interval`, pgx.NamedArgs{"d": d})
}

func older(at *time.Time, d time.Duration) {
	if at != nil {
		*at = at.Add(-d)
	}
}

// lasted lets the conductor with the claim send heartbeats for so long after it took it.
func (m *dyingConductors) lasted(d time.Duration) {
	m.Helper()
	const sql = `UPDATE conductors c SET heartbeat_at = o.claimed_at + @d::interval FROM operations o WHERE o.id = @op AND c.hostname = o.conductor`
	m.book.raw(sql, pgx.NamedArgs{"d": d, "op": m.book.op})
}

func (m *dyingConductors) step() node.Step { m.Helper(); return m.op().Steps[0] }

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
		require.WithinDuration(t, m.op().ClaimedAt.Add(wait), *m.step().NotBefore, 0)
		require.Len(t, m.step().Deaths, 3+i)
		require.Equal(t, i+1, m.step().PutOffs)
		require.Contains(t, m.step().LastError, fmt.Sprintf("%d conductors in a row died within 10s of taking up step power.on: c1 at ", 3+i))
		require.True(t, m.op().Rests)
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

	m.changeOp(func(o *node.Operation) {
		o.Steps[0].Again() // a person has decided to retry
	})
	m.machine.onPowerRead = nil
	r, err = m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextClose, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, m.machine.asked)
}

func TestAnUndoOfWhatIsOwedIsNeverHeld(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.machine.onPowerRead = m.dies
	m.changeOp(func(o *node.Operation) {
		o.Kind, o.Steps[0].Deaths = node.KindUndo, slices.Repeat([]node.Death{{Conductor: "c0"}}, 5)
	})
	for i := range m.op().Steps[0].Deaths {
		m.changeOp(func(o *node.Operation) { o.Steps[0].Deaths[i].Conductor = "c0" })
	}
	m.die(1)
	r, err := m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextFailed, r.Next)
	require.False(t, r.Hold, "it would keep the node; reconciliation tries again at growing pauses")
}

func TestWhatIsNoDeathOfTheStepIsNotCounted(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(*dyingConductors){
		"its conductor lives": func(m *dyingConductors) { m.lives = "c2" },
		"it handed it over": func(m *dyingConductors) {
			require.NoError(m, m.book.HandOver(m.Context(), m.book.op, m.op().Claim, nil, node.Progress{}))
		},
		"it lasted": func(m *dyingConductors) { m.lasted(11 * time.Second); m.later(time.Minute) },
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
			m.changeOp(func(o *node.Operation) {
				o.Steps[0].Deaths = o.Steps[0].Deaths[:1] // so that this try is not put off
			})
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
	later := time.Now().UTC().Add(time.Minute).Truncate(time.Microsecond)
	b.changeOp(func(o *node.Operation) {
		o.Steps[0].State, o.Steps[0].NotBefore, o.Steps[0].Deaths = node.StepRunning, &later, make([]node.Death, 3)
		o.Asked, o.AskedPower = node.AskPower, node.PowerOn
	})
	r, err := b.run()
	require.NoError(t, err)
	require.Equal(t, conductor.NextReady, r.Next)
	require.Equal(t, []bmc.PowerRequest{bmc.RequestOn}, b.machine.asked)
	require.Equal(t, later, *b.op().CurrentStep().NotBefore)
}

func TestAnOperationInMaintenanceIsNotPutOffButEndedWhereItsConductorDied(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.changeOp(func(o *node.Operation) {
		o.Kind = node.KindDeploy
		o.Steps[0].Interface = "deploy" // the step of a power request would run in maintenance, too
		o.Steps[0].State = node.StepRunning
		o.Steps[0].Deaths = []node.Death{{Conductor: "c0"}, {Conductor: "c0"}}
		o.Paused = true
	})
	m.starts("c0")
	_, err := m.book.Claim(t.Context(), m.book.op, run, node.Claim{Attempt: 1}, time.Time{}, "c0")
	require.NoError(t, err)
	r, err := m.next()
	require.NoError(t, err)
	require.Equal(t, conductor.NextOrphaned, r.Next)
}

func TestAnUndoThatItsConductorsDieOfIsOwed(t *testing.T) {
	t.Parallel()
	m := newDyingConductors(t)
	m.changeOp(func(o *node.Operation) { o.Undo = []node.Undo{node.UndoPowerOff} })
	m.machine.onPowerRead, m.machine.power = m.dies, bmc.PowerOn
	undo := func() error {
		m.arrives()
		return m.undo()
	}
	for range 3 {
		require.ErrorContains(t, undo(), errGone.Error())
	}
	err := undo()
	require.ErrorContains(t, err, "3 conductors in a row died within 10s of taking up the undo: c1 at ")
	require.True(t, final(err))
}
