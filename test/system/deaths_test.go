package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"

	"go.temper.dev/temper/internal/dev"
)

// mortal is a conductor group in which two conductors always run, and a node of that group.
type mortal struct {
	*node
	group string
	env   []string
	alive map[string]*dev.Running
	born  int
}

func newMortal(t *testing.T, group string, env ...string) *mortal {
	t.Helper()
	m := &mortal{group: group, env: append(env, "TEMPER_BMC_REQUEST_TIMEOUT=9s", "TEMPER_BMC_REQUEST_TIMEOUT_MAX=9s", "TEMPER_STEP_DEATH_WITHIN=30s"), alive: map[string]*dev.Running{}}
	m.bear(t)
	m.bear(t)
	m.node = in(t, world(t), group)
	return m
}

func (m *mortal) bear(t *testing.T) {
	t.Helper()
	m.born++
	name := fmt.Sprintf("%s-%d", m.group, m.born)
	m.alive[name] = world(t).conductor(t, m.group, name, m.env...)
}

// deadly is what an operation shows of a step that conductors die of.
type deadly struct {
	State string `json:"state"`
	Steps []struct {
		step
		Deaths []struct {
			Conductor string     `json:"conductor"`
			At        *time.Time `json:"at"`
		} `json:"deaths"`
		NotBefore *time.Time `json:"not_before"`
		PutOffs   int        `json:"put_offs"`
	} `json:"steps"`
}

func (m *mortal) told(id string) (d deadly, err error) {
	return d, m.s.read("/temper/v1/operations/"+id, &d)
}

// kill waits until a step has begun for which want returns true, kills its conductor and starts another one.
func (m *mortal) kill(t *testing.T, id string, want func(step) bool) {
	t.Helper()
	victim := ""
	catches(t, patience, func() error {
		d, err := m.told(id)
		if err != nil {
			return err
		}
		for _, st := range d.Steps {
			if name := text(st.Conductor); st.State == "running" && m.alive[name] != nil && want(st.step) {
				victim = name
				return syscall.Kill(m.alive[name].Pid(), syscall.SIGKILL)
			}
		}
		return fmt.Errorf("nobody has begun a step: %+v", d)
	})
	delete(m.alive, victim)
	m.bear(t)
}

func (m *mortal) why() string {
	var w struct {
		Text string `json:"text"`
	}
	require.NoError(m.t, m.s.read("/temper/v1/nodes/"+m.uuid+"/why", &w))
	return w.Text
}

// details is what Temporal's page shows of an operation's workflow.
func (m *mortal) details(id string) string {
	m.t.Helper()
	o, err := m.operation(id)
	require.NoError(m.t, err)
	v, err := m.s.temporal(m.t).QueryWorkflow(m.t.Context(), o.WorkflowID, text(o.RunID), "__temporal_workflow_metadata")
	require.NoError(m.t, err)
	var meta sdkpb.WorkflowMetadata
	require.NoError(m.t, v.Get(&meta))
	return meta.GetCurrentDetails()
}

// putOff waits until the first step is put off for the nth time.
func (m *mortal) putOff(t *testing.T, id string, n int) deadly {
	t.Helper()
	var out deadly
	catches(t, patience, func() error {
		var err error
		if out, err = m.told(id); err == nil && (out.Steps[0].PutOffs < n || out.State != "waiting") {
			raw, _ := json.Marshal(out)
			err = errors.New("it is not put off: " + string(raw))
		}
		return err
	})
	return out
}

// A step that kills every conductor that takes it up is not given to one conductor after the other without end.
func TestAStepThatItsConductorsDieOfIsPutOffAndHeld(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "poison", "TEMPER_STEP_DEATH_PAUSE=3s")
	m.spoil(fault{Kind: "hang"}) // long enough to kill the conductor that waits for the answer
	id := m.provision("active", nil)
	begun := 0
	anew := func(st step) bool {
		fresh := st.Attempts > begun
		begun = max(begun, st.Attempts)
		return fresh
	}
	for range 3 {
		m.kill(t, id, anew)
	}
	for n := 1; n <= 3; n++ {
		d := m.putOff(t, id, n)
		st := d.Steps[0]
		require.Len(t, st.Deaths, 2+n)
		require.NotNil(t, st.NotBefore)
		require.GreaterOrEqual(t, st.NotBefore.Sub(*st.Deaths[1+n].At), 3*time.Second<<(n-1))
		if n == 3 { // which lasts for twelve seconds
			words := fmt.Sprintf("5 conductors in a row died within 30s of taking up step deploy.prepare: %s at ", st.Deaths[0].Conductor)
			require.Contains(t, text(st.LastError), words)
			why := m.why()
			require.Contains(t, why, words)
			require.Contains(t, why, "It waits for the next try of step deploy.prepare: 5 conductors died of it.")
			require.Contains(t, why, "Next: another try of step deploy.prepare, at ")
			details := m.details(id)
			require.Contains(t, details, "**Waits for:** the next try of step deploy.prepare: 5 conductors died of it")
			require.Contains(t, details, words)
		}
		m.kill(t, id, anew)
	}
	m.holds(id, "prepare")
	now := m.now()
	require.Equal(t, "deploy hold", now.State, "although it was not asked to hold")
	require.Contains(t, text(now.LastError), "6 conductors in a row died within 30s of taking up step deploy.prepare: ")
	require.Contains(t, m.why(), "Step deploy.prepare failed: 6 conductors in a row died")
	o, err := m.operation(id)
	require.NoError(t, err)
	require.Equal(t, "a decision: retry or abort", text(o.WaitingFor))

	m.spoil()
	require.Equal(t, http.StatusAccepted, m.decide(id, "retry", "the BMC is mended").Status)
	m.deployed(id, digest(t, m.s.rack))
	d, err := m.told(id)
	require.NoError(t, err)
	require.Empty(t, d.Steps[0].Deaths)
	require.Equal(t, 3, d.Steps[0].PutOffs, "what was is still told")
}

func TestConductorsThatDieAtOneStepAfterTheOtherPutNothingOff(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "unlucky")
	m.spoil(fault{Kind: "latency", Delay: "300ms", Count: often}) // so that no step is over before its conductor is killed
	id := m.provision("active", nil)
	seen := map[string]bool{}
	for range 4 { // one more than it takes to put a step off
		m.kill(t, id, func(st step) bool {
			fresh := !seen[st.Step]
			seen[st.Step] = true
			return fresh
		})
	}
	m.deployed(id, digest(t, m.s.rack))
	d, err := m.told(id)
	require.NoError(t, err)
	for _, st := range d.Steps {
		require.Zero(t, st.PutOffs, "%s: %+v", st.Step, st.Deaths)
	}
}

// A cancel takes effect before the next try.
func TestANodeIsGivenBackWhileItsStepIsPutOff(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "givenback")
	m.spoil(fault{Kind: "hang"})
	id := m.provision("active", nil)
	begun := 0
	for range 3 {
		m.kill(t, id, func(st step) bool {
			fresh := st.Attempts > begun
			begun = max(begun, st.Attempts)
			return fresh
		})
	}
	d := m.putOff(t, id, 1)
	require.Greater(t, time.Until(*d.Steps[0].NotBefore), 20*time.Second)
	require.Equal(t, "deploying", m.now().State)
	m.spoil()
	require.Equal(t, id, m.provision("deleted", nil))
	m.await("available")
	require.Less(t, time.Now(), *d.Steps[0].NotBefore)
	o, err := m.operation(id)
	require.NoError(t, err)
	require.Equal(t, "cancelled", text(o.Outcome))
}
