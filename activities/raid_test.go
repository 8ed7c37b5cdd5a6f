package activities_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
)

// storage is a storage controller with drives of 100 GiB, d1, d2, ...
type storage struct {
	drives  int
	volumes []bmc.Volume
	made    int
	created []bmc.NewVolume
	deleted []string
	answer  error // to a request that takes effect
	refusal error // of a request, which has no effect
	rename  bool  // it gives volumes names of its own
	task    *bmc.Task
	reads   int // of tasks
	running []string
}

type storageSession struct {
	*session
	*storage
}

func (s storageSession) Controllers(context.Context) ([]bmc.Controller, error) {
	c := bmc.Controller{ID: "R1", Volumes: slices.Clone(s.volumes)}
	for i := range s.drives {
		id := fmt.Sprintf("d%d", i+1)
		c.Drives = append(c.Drives, bmc.PhysicalDrive{ID: id, Path: "/drives/" + id, Bytes: 100 << 30, Media: "ssd", Interface: "sas"})
	}
	return []bmc.Controller{c}, nil
}

func (s storageSession) CreateVolume(ctx context.Context, v bmc.NewVolume) (string, error) {
	if err := s.write(ctx, bmc.NameCreateVolume); err != nil {
		return "", err
	}
	if s.refusal != nil {
		return "", s.refusal
	}
	s.made++
	id := fmt.Sprintf("v%d", s.made)
	s.created = append(s.created, v)
	name := v.Name
	if s.rename {
		name = "Virtual Disk " + id
	}
	s.volumes = append(s.volumes, bmc.Volume{ID: id, Name: name, Path: "/volumes/" + id, Level: v.Level, Bytes: v.Bytes, Drives: v.Drives})
	return s.began()
}

func (s storageSession) began() (string, error) {
	if s.answer != nil || s.task == nil {
		return "", s.answer
	}
	return "/tasks/1", nil
}

func (s storageSession) DeleteVolume(ctx context.Context, path string) (string, error) {
	if err := s.write(ctx, bmc.NameDeleteVolume(path)); err != nil {
		return "", err
	}
	s.deleted = append(s.deleted, path)
	s.volumes = slices.DeleteFunc(s.volumes, func(v bmc.Volume) bool { return v.Path == path })
	return s.began()
}

func (s storageSession) Task(context.Context, string) (bmc.Task, error) {
	if s.reads++; s.reads < 3 || s.task == nil {
		if s.task == nil {
			return bmc.Task{State: bmc.TaskEnded}, nil
		}
		return bmc.Task{State: bmc.TaskRuns, Word: "Running"}, nil
	}
	return *s.task, nil
}

func (s storageSession) Tasks(context.Context) ([]string, error) { return s.running, nil }

func (s storageSession) RunningTasks(context.Context) ([]string, error) { return s.running, nil }

const (
	makes   = "create_configuration"
	deletes = "delete_configuration"
)

// raidBench is a cleaning with one step of the interface raid, behind which the operation ends.
func raidBench(t *testing.T, step string, args map[string]any, disks ...any) (*bench, *storage) {
	n := &node.Node{UUID: uuid, ProvisionState: node.Cleaning, Interfaces: map[string]string{"deploy": "direct", "boot": "redfish-virtual-media", "raid": "redfish"}}
	if len(disks) > 0 {
		n.TargetRAIDConfig = map[string]any{"logical_disks": disks}
	}
	b := newBenchOf(t, n, nil, node.KindNMI, bmc.PowerOn, plan.Options{})
	b.changeOp(func(o *node.Operation) {
		o.Steps = []node.Step{{Interface: "raid", Step: step, Args: args, Source: node.SourceDriver, Asked: true, State: node.StepPending}}
	})
	s := &storage{drives: 4}
	b.machine.storage, b.machine.within = s, 20*time.Millisecond
	return b, s
}

func disk(level string, size any, more ...string) map[string]any {
	d := map[string]any{"raid_level": level, "size_gb": size}
	for i := 0; i < len(more); i += 2 {
		d[more[i]] = more[i+1]
	}
	return d
}

var lostAnswer = fault.New(fault.Unreachable, "node: %w", fault.NoAnswerError("no answer in time"))

func TestVolumesAreMadeAsTheNodeIsToHaveThem(t *testing.T) {
	t.Parallel()
	root := disk("1", 50)
	root["is_root_volume"] = true
	data := map[string]any{"raid_level": "0", "size_gb": "MAX", "controller": "R1", "physical_disks": []any{"d1", "d3"}, "volume_name": "data"}
	b, s := raidBench(t, makes, nil, root, data)
	s.task = &bmc.Task{State: bmc.TaskEnded}
	_, err := b.run()
	require.NoError(t, err)
	require.Equal(t, []bmc.NewVolume{
		{Controller: "R1", Level: "1", Bytes: 50 << 30, Drives: []string{"/drives/d2", "/drives/d4"}},
		{Controller: "R1", Name: "data", Level: "0", Bytes: 200 << 30, Drives: []string{"/drives/d1", "/drives/d3"}},
	}, s.created, "drives that another one names are left alone")
	got := b.node().RAIDConfig
	require.NotEmpty(t, got["last_updated"])
	require.Len(t, got["logical_disks"], 2)
	require.Subset(t, got["logical_disks"].([]any)[1], map[string]any{"id": "v2", "name": "data", "controller": "R1", "raid_level": "0"})

	_, err = b.run()
	require.NoError(t, err, "it runs again, as after a crash")
	require.Len(t, s.created, 2)
}

func TestAVolumeIsMadeOnceAlsoIfTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, rename := range map[string]bool{"with its name": false, "with another name": true} {
		t.Run(name, func(t *testing.T) {
			b, s := raidBench(t, makes, nil, disk("1", 50, "volume_name", "root"), disk("1", 50, "volume_name", "data"))
			s.answer, s.rename = lostAnswer, rename
			for range 2 {
				_, err := b.run()
				require.False(t, final(err))
			}
			s.answer, s.running, s.task = nil, []string{"/tasks/other"}, &bmc.Task{State: bmc.TaskFailed, Messages: "of something else"}
			_, err := b.run()
			require.NoError(t, err)
			require.Len(t, s.created, 2)
		})
	}
}

func TestAConductorThatDiesMakesNoSecondVolume(t *testing.T) {
	t.Parallel()
	b, s := raidBench(t, makes, nil, disk("1", 50), disk("0", 50))
	s.task = &bmc.Task{State: bmc.TaskEnded}
	_, err := b.run()
	require.NoError(t, err)
	saves := b.book.saves
	require.Greater(t, saves, 3)
	for die := 2; die <= saves; die++ { // before the first one nothing is sent
		for _, written := range []bool{die%2 == 0} {
			b, s := raidBench(t, makes, map[string]any{"delete_existing": true}, disk("1", 50), disk("0", 50))
			s.task = &bmc.Task{State: bmc.TaskEnded}
			s.volumes = []bmc.Volume{{ID: "old", Path: "/volumes/old", Level: "0", Bytes: 10 << 30, Drives: []string{"/drives/d1"}}}
			b.steps.Store = &mortal{book: b.book, at: die, written: written}
			_, err := b.run()
			if err == nil {
				continue // it had ended before
			}
			b.steps.Store = b.book
			_, err = b.run()
			require.NoError(t, err, "died at save %d, written %v", die, written)
			require.Len(t, s.created, 2, "died at save %d, written %v", die, written)
			require.Equal(t, []string{"/volumes/old"}, s.deleted)
			require.Len(t, b.node().RAIDConfig["logical_disks"], 2)
		}
	}
}

func TestVolumesAreDeleted(t *testing.T) {
	t.Parallel()
	b, s := raidBench(t, deletes, nil)
	s.volumes = []bmc.Volume{{ID: "a", Path: "/volumes/a", Level: "1"}, {ID: "b", Path: "/volumes/b"}}
	s.answer = lostAnswer
	_, err := b.run()
	require.False(t, final(err))
	s.answer = nil
	_, err = b.run()
	require.NoError(t, err)
	require.Equal(t, []string{"/volumes/a", "/volumes/b"}, s.deleted)
	require.Empty(t, b.node().RAIDConfig["logical_disks"])
}

func TestWhatTheControllerRefusesIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b, s := raidBench(t, makes, nil, disk("1", 50))
	s.refusal = fault.New(fault.Refused, "400 Bad Request: no RAID here")
	_, err := b.run()
	require.True(t, final(err))
	require.Equal(t, fault.RAIDRefused, b.op().Steps[0].Cause)

	b, s = raidBench(t, makes, nil, disk("1", 50))
	s.task = &bmc.Task{State: bmc.TaskFailed, Word: "Exception", Messages: "drive d1 is foreign"}
	_, err = b.run()
	require.True(t, final(err))
	require.ErrorContains(t, err, "could not create a volume: its task ended as Exception: drive d1 is foreign")
}

// Nothing is deleted or made if the configuration can't be made as a whole.
func TestARAIDConfigurationThatDoesNotFitChangesNothing(t *testing.T) {
	t.Parallel()
	for words, disks := range map[string][]any{
		"a logical disk of RAID level 5 with 100 GiB wants 3 drives that are alike and used by no volume; the server has R1: d1 (": {disk("1", 50), disk("5", 100)},
		"size_gb: a logical disk of RAID level 0": {map[string]any{"raid_level": "0", "size_gb": 500, "controller": "R1", "physical_disks": []any{"d1"}}},
		`the controller "R1" has no drive "d9"`:   {map[string]any{"raid_level": "0", "size_gb": 5, "controller": "R1", "physical_disks": []any{"d9"}}},
		"raid_level JBOD is not one":              {disk("JBOD", 5)},
		"can't have 3 drives":                     {map[string]any{"raid_level": "1", "size_gb": 5, "controller": "R1", "physical_disks": []any{"d1", "d2", "d3"}}},
		"failed to find matching physical":        {disk("1", 50, "disk_type", "hdd")},
		"failed to find":                          {disk("1", 50, "interface_type", "sata")},
		"failed to find matching":                 {disk("1", 50, "controller", "R2")},
	} {
		b, s := raidBench(t, makes, map[string]any{"delete_existing": true}, disks...)
		s.volumes = []bmc.Volume{{ID: "old", Path: "/volumes/old", Level: "0", Bytes: 10 << 30, Drives: []string{"/drives/d1"}}}
		_, err := b.run()
		require.ErrorContains(t, err, words)
		require.True(t, final(err))
		require.Empty(t, s.deleted)
		require.Empty(t, s.created)
	}
	b, _ := raidBench(t, makes, nil)
	_, err := b.run()
	require.ErrorContains(t, err, "no target RAID configuration")
}

func TestOnlyTheVolumesThatTheStepAsksForAreMade(t *testing.T) {
	t.Parallel()
	root := disk("1", 50)
	root["is_root_volume"] = true
	for arg, level := range map[string]string{node.ArgCreateRoot: "0", node.ArgCreateNonroot: "1"} {
		b, s := raidBench(t, makes, map[string]any{arg: false}, root, disk("0", 20))
		_, err := b.run()
		require.NoError(t, err)
		require.Len(t, s.created, 1)
		require.Equal(t, level, s.created[0].Level)
	}
	b, s := raidBench(t, "apply_configuration", map[string]any{node.ArgRAIDConfig: map[string]any{"logical_disks": []any{disk("1+0", "MAX")}}})
	_, err := b.run()
	require.NoError(t, err)
	require.EqualValues(t, 200<<30, s.created[0].Bytes)
}

func TestADriverWithoutVolumes(t *testing.T) {
	t.Parallel()
	b, _ := raidBench(t, makes, nil, disk("1", 50))
	b.machine.storage = nil
	_, err := b.run()
	require.ErrorContains(t, err, "does not support raid")
	require.True(t, final(err))
}
