package system_test

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// states returns the states of a group's conductors by name, as the API shows them.
func (s *stack) states(group string) (map[string]string, error) {
	var body struct {
		Conductors []struct {
			Hostname string `json:"hostname"`
			Group    string `json:"conductor_group"`
			State    string `json:"state"`
		} `json:"conductors"`
	}
	out := map[string]string{}
	err := s.read("/temper/v1/conductors", &body)
	for _, k := range body.Conductors {
		if k.Group == group {
			out[k.Hostname] = k.State
		}
	}
	return out, err
}

// covers returns an error unless exactly these conductors cover the group's redfish nodes.
func (s *stack) covers(group string, want ...string) error {
	var body struct {
		Coverage []struct {
			Group      string   `json:"conductor_group"`
			Driver     string   `json:"driver"`
			Conductors []string `json:"conductors"`
		} `json:"coverage"`
	}
	if err := s.read("/temper/v1/coverage", &body); err != nil {
		return err
	}
	for _, r := range body.Coverage {
		if r.Group == group && r.Driver == "redfish" && fmt.Sprint(r.Conductors) != fmt.Sprint(want) {
			return fmt.Errorf("%v cover it, not %v", r.Conductors, want)
		}
	}
	return nil
}

// owned returns an error unless each node of a group is owned by one of these.
func (s *stack) owned(group string, by ...string) error {
	var body struct {
		Epoch  int64 `json:"epoch"`
		Owners []struct {
			Conductor *string `json:"conductor"`
		} `json:"owners"`
	}
	if err := s.read("/temper/v1/ring?conductor_group="+group, &body); err != nil {
		return err
	}
	for _, o := range body.Owners {
		if !slices.Contains(by, text(o.Conductor)) {
			return fmt.Errorf("%q owns a node, not %q", text(o.Conductor), by)
		}
	}
	return nil
}

// Its heartbeats still reach the database, but it can't get work.
func TestAConductorThatCannotReachTemporalCoversNothing(t *testing.T) {
	t.Parallel()
	s := world(t)
	v, setting := s.behindValve(t, "temporal")
	s.conductor(t, "deaf", "deaf-1", setting)
	in(t, s, "deaf")
	eventually(t, patience, func() error { return s.owned("deaf", "deaf-1") })
	v.Hold()
	began := time.Now()
	eventually(t, patience, func() error { return s.covers("deaf") })
	t.Logf("out of the coverage after %s", time.Since(began).Round(100*time.Millisecond))
	require.NoError(t, s.owned("deaf", "null"), "nobody is named where nobody can work")
	v.Open()
	eventually(t, patience, func() error { return s.covers("deaf", "deaf-1") })
	eventually(t, patience, func() error { return s.owned("deaf", "deaf-1") })
}

func TestADrainedConductorTakesNoStepsUntilItIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := world(t)
	first := s.conductor(t, "dry", "dry-1")
	n := in(t, s, "dry")
	refused := s.must(t, http.StatusConflict, http.MethodPost, "/temper/v1/conductors/dry-1/drain", nil)
	require.Contains(t, string(refused.Body), "the last one that covers 1 nodes: ")
	second := s.conductor(t, "dry", "dry-2")
	gate := make(chan struct{})
	l := newLibrary(t, gate)
	n.image(l.url+"/slow.raw", l.sha256)
	id := n.provision("active", nil)
	n.writing(l)
	o, err := n.operation(id)
	require.NoError(t, err)
	other, running := map[string]string{"dry-1": "dry-2", "dry-2": "dry-1"}[text(o.Conductor)], first
	if text(o.Conductor) == "dry-2" {
		running = second
	}

	s.must(t, http.StatusAccepted, http.MethodPost, "/temper/v1/conductors/"+text(o.Conductor)+"/drain", nil)
	require.NoError(t, s.covers("dry", other), "it is offered nothing from now on")
	n.moves(id, other, patience)
	close(gate)
	n.deployed(id, l.sha256)
	states, err := s.states("dry")
	require.NoError(t, err)
	require.Equal(t, map[string]string{text(o.Conductor): "draining", other: "alive"}, states)
	require.NoError(t, syscall.Kill(running.Pid(), 0), "it is there, and rests")
	s.must(t, http.StatusConflict, http.MethodDelete, "/temper/v1/conductors/"+text(o.Conductor), nil)

	// A new process takes the name. The drained one notices that, and ends.
	s.conductor(t, "dry", text(o.Conductor))
	eventually(t, patience, func() error { return s.covers("dry", "dry-1", "dry-2") })
}
