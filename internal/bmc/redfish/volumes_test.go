package redfish_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/sim"
)

// onlyController returns the rack's storage controller.
func onlyController(t *testing.T, s bmc.Session) bmc.Controller {
	t.Helper()
	all, err := s.Controllers(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// ends waits until the task at that path has ended; "" = there is none.
func ends(t *testing.T, s bmc.Session, path string) (last bmc.Task) {
	t.Helper()
	if path == "" {
		return bmc.Task{State: bmc.TaskEnded}
	}
	require.Eventually(t, func() bool {
		var err error
		last, err = s.Task(t.Context(), path)
		require.NoError(t, err)
		return last.Over()
	}, 10*time.Second, 5*time.Millisecond)
	return last
}

func mirror(c bmc.Controller) bmc.NewVolume {
	return bmc.NewVolume{Controller: c.ID, Name: "root", Level: "1", Bytes: 50 << 30, Drives: []string{c.Drives[0].Path, c.Drives[1].Path}}
}

func TestVolumesAreMadeAndDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]sim.Config{"at once": {}, "by tasks": {TaskDelay: 30 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			rack := startRack(t, c)
			s := talk(t, newDriver(t, quick()), listed(t, rack).info())
			have := onlyController(t, s)
			require.Equal(t, "1", have.ID)
			require.Len(t, have.Drives, 2)
			require.Equal(t, "ssd", have.Drives[0].Media)
			require.Empty(t, have.Volumes)

			task, err := s.CreateVolume(t.Context(), mirror(have))
			require.NoError(t, err)
			require.Equal(t, c.TaskDelay > 0, task != "")
			require.Empty(t, ends(t, s, task).Messages)
			v := onlyController(t, s).Volumes
			require.Len(t, v, 1)
			require.Equal(t, []string{have.Drives[0].Path, have.Drives[1].Path}, v[0].Drives)
			require.Equal(t, [2]string{"root", "1"}, [2]string{v[0].Name, v[0].Level})
			require.EqualValues(t, 50<<30, v[0].Bytes)

			task, err = s.DeleteVolume(t.Context(), v[0].Path)
			require.NoError(t, err)
			ends(t, s, task)
			require.Empty(t, onlyController(t, s).Volumes)
			task, err = s.DeleteVolume(t.Context(), v[0].Path)
			require.NoError(t, err, "one that is gone is deleted")
			require.Empty(t, task)
			_, err = s.Task(t.Context(), "/redfish/v1/TaskService/Tasks/none")
			requireFault(t, err, fault.NotFound, "")
		})
	}
}

func TestATaskThatRunsIsListed(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{TaskDelay: time.Hour})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	running, err := s.RunningTasks(t.Context())
	require.NoError(t, err)
	require.Empty(t, running)
	task, err := s.CreateVolume(t.Context(), mirror(onlyController(t, s)))
	require.NoError(t, err)
	running, err = s.RunningTasks(t.Context())
	require.NoError(t, err)
	require.Len(t, running, 1)
	require.Equal(t, task, running[0])
}

func TestAControllerThatMakesNoVolume(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{TaskDelay: 10 * time.Millisecond})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	want := mirror(onlyController(t, s))
	setFaults(t, rack, `{"kind":"refused_volume","count":1},{"kind":"failed_volume","count":1}`)
	_, err := s.CreateVolume(t.Context(), want)
	requireFault(t, err, fault.Refused, "a mode without RAID")
	task, err := s.CreateVolume(t.Context(), want)
	require.NoError(t, err)
	require.Contains(t, ends(t, s, task).Messages, "could not be initialized")
	require.Empty(t, onlyController(t, s).Volumes)

	want.Level = "7"
	_, err = s.CreateVolume(t.Context(), want)
	requireFault(t, err, fault.Invalid, `no RAID level "7"`)
	want = mirror(onlyController(t, s))
	want.Controller = "AHCI"
	_, err = s.CreateVolume(t.Context(), want)
	requireFault(t, err, fault.Invalid, `no storage controller "AHCI"`)
}

func TestAVolumeWhoseAnswerIsLostIsThere(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	s := talk(t, newDriver(t, quick()), listed(t, rack).info())
	have := onlyController(t, s)
	setFaults(t, rack, `{"kind":"reset","when":"after","method":"POST","path":"/Volumes","count":1}`)
	_, err := s.CreateVolume(t.Context(), mirror(have))
	requireFault(t, err, fault.Unreachable)
	require.Len(t, onlyController(t, s).Volumes, 1)
}

// Each change of a volume asks the guard before, with its name.
func TestTheGuardIsAskedBeforeVolumesChange(t *testing.T) {
	t.Parallel()
	rack := startRack(t, sim.Config{})
	var asked []string
	target := bmc.Target{Node: nodeID, Info: listed(t, rack).info(), Guard: func(_ context.Context, r bmc.Request) (time.Time, error) {
		asked = append(asked, r.Name)
		return time.Now().Add(time.Minute), nil
	}}
	s, err := newDriver(t, quick()).Open(t.Context(), target)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.CreateVolume(t.Context(), mirror(onlyController(t, s)))
	require.NoError(t, err)
	path := onlyController(t, s).Volumes[0].Path
	_, err = s.DeleteVolume(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, []string{bmc.NameCreateVolume, bmc.NameDeleteVolume(path)}, asked)
}
