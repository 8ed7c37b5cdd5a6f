package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "go.temper.dev/temper/internal/node"
)

func TestWorkGoesOnRestsOrEnds(t *testing.T) {
	now := time.Now()
	step := func(edit ...func(*Step)) Step {
		s := Step{Interface: "deploy", Step: StepWriteImage, State: StepRunning, StartedAt: &now, Attempts: 2}
		for _, e := range edit {
			e(&s)
		}
		return s
	}
	abortable := func(s *Step) { s.Abortable = true }
	power := Step{Interface: "power", Step: StepOff, Source: SourceCore, State: StepPending}
	covered := Situation{Cover: Coverage{Covered: true, Last: LastConductor{Known: true, Alive: true}}}
	claimed := Situation{Cover: Coverage{Covered: true}, Claimed: true}
	putOff := Situation{Cover: Coverage{Covered: true, PutOff: time.Minute}, Claimed: true}
	nobody := Situation{Cover: Coverage{Last: LastConductor{Known: true, Alive: true, Draining: true}}}
	dead := Situation{Cover: Coverage{Covered: true, Last: LastConductor{Known: true}}}
	for name, c := range map[string]struct {
		op   Operation
		at   Situation
		want Course
	}{
		"nothing is asked": {Operation{Steps: []Step{step()}}, claimed, GoesOn},
		"it is cancelled":  {Operation{Steps: []Step{step()}, Asked: AskCancel}, claimed, Ends},
		"its node is given back, and nobody is there": {Operation{Steps: []Step{step()}, Asked: AskDelete}, nobody, Ends},
		"it has ended":                                    {Operation{Phase: Ended}, covered, Ends},
		"an abort waits for the step":                     {Operation{Steps: []Step{step()}, Asked: AskAbort}, covered, GoesOn},
		"an abortable one is left":                        {Operation{Steps: []Step{step(abortable)}, Asked: AskAbort}, covered, Ends},
		"one that has not begun is left":                  {Operation{Steps: []Step{{Interface: "deploy", Step: StepWriteImage, State: StepPending}}, Asked: AskAbort}, claimed, Ends},
		"one that nobody can go on with is left":          {Operation{Steps: []Step{step()}, Asked: AskAbort}, nobody, Ends},
		"one that is put off is left":                     {Operation{Steps: []Step{step()}, Asked: AskAbort}, putOff, Ends},
		"nobody covers the node":                          {Operation{Steps: []Step{step()}}, nobody, Rests},
		"its step is put off":                             {Operation{Steps: []Step{step()}}, putOff, Rests},
		"a power change is put off":                       {Operation{Steps: []Step{power}}, putOff, Rests},
		"power is asked for meanwhile":                    {Operation{Steps: []Step{step()}, Asked: AskPower}, putOff, GoesOn},
		"in maintenance":                                  {Operation{Steps: []Step{step()}, Paused: true, Conductor: "c1"}, covered, Rests},
		"power in maintenance":                            {Operation{Steps: []Step{step()}, Paused: true, Asked: AskPower, Conductor: "c1"}, covered, GoesOn},
		"its steps in maintenance":                        {Operation{Steps: []Step{power, step()}, Paused: true}, claimed, GoesOn},
		"the conductor of what is paused has died":        {Operation{Steps: []Step{step()}, Paused: true, Conductor: "c1"}, dead, BreaksOff},
		"another one claims what it had at work":          {Operation{Steps: []Step{step()}, Paused: true}, claimed, BreaksOff},
		"it had put the step down":                        {Operation{Steps: []Step{step()}, Paused: true, Rests: true}, claimed, Rests},
		"an undo that is owed, in maintenance":            {Operation{Kind: KindUndo, Steps: []Step{step()}, Paused: true}, claimed, Ends},
		"its workflow is paused in Temporal":              {Operation{Steps: []Step{step()}, TemporalPause: &Pause{What: PauseOfWorkflow}}, claimed, Rests},
		"its activity was paused in Temporal":             {Operation{Steps: []Step{step()}, TemporalPause: &Pause{What: PauseOfActivity}}, claimed, GoesOn},
		"it is paused in Temporal, and cancelled":         {Operation{Steps: []Step{step()}, TemporalPause: &Pause{What: PauseOfWorkflow}, Asked: AskCancel}, claimed, Ends},
		"all steps are done, and the node in maintenance": {Operation{Paused: true}, claimed, GoesOn},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.op.Course(c.at)) })
	}
}

func TestWhatIsToldIsHeard(t *testing.T) {
	for _, o := range []Operation{
		{},
		{Paused: true},
		{TemporalPause: &Pause{What: PauseOfWorkflow}},
		{TemporalPause: &Pause{What: PauseOfActivity}},
		{Paused: true, TemporalPause: &Pause{What: PauseOfWorkflow}},
		{Asked: AskCancel, Paused: true},
		{Asked: AskPower},
	} {
		for _, before := range []Operation{{}, {Paused: true}, {TemporalPause: &Pause{What: PauseOfWorkflow}}, {Asked: AskAbort}} {
			before.SetPendingAsk(o.PendingAsk())
			require.Equal(t, o.PendingAsk(), before.PendingAsk(), "%+v", o)
		}
	}
}

func TestEveryStateIsReachedAndLeft(t *testing.T) {
	reached := map[Phase]bool{}
	for _, r := range OperationRules {
		if reached[r.To] = true; r.To == Ended {
			require.NotContains(t, r.From, Ended)
		}
		require.NotContains(t, r.From, Ended, "nothing leaves what has ended")
	}
	for _, s := range OperationStates {
		require.NotEmpty(t, s.Holds+s.Acts+s.Left)
		if s.Name == PausedState || s.Name == CancellingState {
			continue // shown instead of a phase
		}
		require.True(t, reached[s.Name], s.Name)
		require.Equal(t, s.Name != Ended, MayBecome(OpEnd, s.Name, Ended), s.Name)
	}
	shown := map[Phase]Operation{
		Accepted: {Phase: Accepted}, Running: {Phase: Running}, Waiting: {Phase: Waiting, Blocked: BlockedNoConductor}, Holding: {Phase: Holding},
		PausedState: {Phase: Waiting, Blocked: BlockedMaintenance}, Undoing: {Phase: Undoing}, CancellingState: {Phase: Undoing, Asked: AskAbort}, Ended: {Phase: Ended, Asked: AskCancel},
	}
	require.Len(t, shown, len(OperationStates))
	for want, o := range shown {
		require.Equal(t, want, o.State())
	}
	paused := Operation{Phase: Running, TemporalPause: &Pause{}}
	require.Equal(t, PausedState, paused.State())
}
