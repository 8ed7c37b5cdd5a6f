package closing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/closing"
	. "go.temper.dev/temper/internal/node"
)

func TestWhatEndsSoonAndWhatIsThen(t *testing.T) {
	now := time.Now()
	done, runs := Step{State: StepDone}, Step{State: StepRunning}
	change := func(f func(*Operation)) func(*Node) { return func(n *Node) { f(n.Operation) } }
	for name, c := range map[string]struct {
		n    *Node
		want State // "" = it does not end soon
	}{
		"a change of power":            {at(KindPower, Active, steps(runs)), Active},
		"a boot device":                {at(KindBootDevice, Manageable, steps(runs)), Manageable},
		"an NMI":                       {at(KindNMI, Active, steps(runs)), Active},
		"a deploy at work":             {at(KindDeploy, Deploying, steps(done, runs)), ""},
		"a deploy with nothing to do":  {at(KindDeploy, Deploying, steps(done, done)), Active},
		"a cleaning with nothing left": {at(KindProvide, Cleaning, steps(done)), Available},
		"an undo":                      {at(KindUndo, Available, steps(runs)), ""},
		"an undeploy that comes first": {at(KindDeploy, Deleting, steps(done)), ""},
		"one that was paused":          {at(KindPower, Active, steps(runs), change(func(o *Operation) { o.TemporalPause = &Pause{} })), ""},
		"one that nobody can do":       {at(KindPower, Active, steps(runs), change(func(o *Operation) { o.Phase, o.Blocked = Waiting, BlockedNoConductor })), ""},
		"one that waits for a person":  {at(KindClean, CleanHold, steps(done), change(func(o *Operation) { o.Phase = Holding })), ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.n.ProvisionState
			after, ok := closing.Soon(c.n, now)
			require.Equal(t, c.want != "", ok)
			if ok {
				require.Equal(t, c.want, after.ProvisionState)
				require.Nil(t, after.Operation)
			}
			require.Equal(t, before, c.n.ProvisionState)
			require.NotNil(t, c.n.Operation)
		})
	}
	off := at(KindPower, Active, change(func(o *Operation) { o.PowerTarget = SoftPowerOff }))
	off.PowerState = PowerOn
	after, ok := closing.Soon(off, now)
	require.True(t, ok)
	require.Equal(t, PowerOff, after.PowerState)
	free := at(KindPower, Active)
	free.Operation = nil
	_, ok = closing.Soon(free, now)
	require.False(t, ok)
}
