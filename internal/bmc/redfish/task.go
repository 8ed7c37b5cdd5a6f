package redfish

import (
	"context"
	"net/http"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// longTask is a task as it is read while it is followed.
type longTask struct {
	ID       looseString `json:"@odata.id"`
	State    looseString `json:"TaskState"`
	Status   looseString `json:"TaskStatus"`
	Percent  loose[*int] `json:"PercentComplete"`
	Messages messages
}

// taskStates has what each TaskState means (Task.v1_7_4). Any other one, and none, means that the task runs.
var taskStates = map[looseString]bmc.TaskState{
	"New": bmc.TaskWaits, "Pending": bmc.TaskWaits, "Suspended": bmc.TaskWaits,
	"Completed": bmc.TaskEnded,
	"Exception": bmc.TaskFailed, "Killed": bmc.TaskFailed, "Cancelled": bmc.TaskFailed, "Interrupted": bmc.TaskFailed,
}

func (l longTask) task() bmc.Task {
	t := bmc.Task{State: bmc.TaskRuns, Word: l.State.short(), Percent: -1, Messages: printable(l.Messages.texts(), maxMessage)}
	if state, known := taskStates[l.State]; known {
		t.State = state
	}
	if t.State == bmc.TaskEnded && l.Status == "Critical" {
		t.State = bmc.TaskFailed
	}
	if p := l.Percent.v; p != nil && *p >= 0 && *p <= 100 {
		t.Percent = *p
	}
	return t
}

// taskOf returns the path of the task with which the BMC has answered, "" if it names none. Its resource is better than its monitor, which is gone on
// some BMCs as soon as somebody has read that the task has ended.
func (a *answer) taskOf() string {
	var l longTask
	if jsonvalue.Unmarshal(a.body, &l) == nil && l.ID != "" && l.State != "" {
		return string(l.ID)
	}
	return createdPath(a)
}

// begunTask is taskOf of an answer that may also mean that all is done: only 202 means that the BMC goes on.
func (a *answer) begunTask() string {
	if a.status != http.StatusAccepted {
		return ""
	}
	return a.taskOf()
}

// Task implements bmc.TaskReader.
func (s *session) Task(ctx context.Context, path string) (bmc.Task, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	t, err := s.task(ctx, path)
	return t, s.wrap("read a task", err)
}

func (s *session) task(ctx context.Context, path string) (bmc.Task, error) {
	a, err := s.withLogin(ctx, func(p login) (*answer, error) { return s.endpoint.fetch(ctx, path, p) })
	if gone(err) {
		return bmc.Task{}, fault.New(fault.NotFound, "%w", err)
	}
	if fault.Is(err, fault.Refused) { // as the action itself would have been
		return bmc.Task{State: bmc.TaskFailed, Word: "refused", Percent: -1, Messages: a.explanation()}, nil
	}
	if err != nil {
		return bmc.Task{}, err
	}
	var l longTask
	_ = jsonvalue.Unmarshal(a.body, &l) // a monitor answers with what the action itself would have
	t := l.task()
	if l.State == "" && a.status != http.StatusAccepted {
		t.State, t.Word = bmc.TaskEnded, "ended"
	}
	return t, nil
}

// Tasks implements bmc.TaskReader.
func (s *session) Tasks(ctx context.Context) ([]string, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	paths, err := s.tasks(ctx)
	return paths, s.wrap("list the tasks", err)
}

// tasks returns the paths of the last maxParts tasks: a BMC that keeps more appends the new ones.
func (s *session) tasks(ctx context.Context) ([]string, error) {
	root, err := s.endpoint.serviceRoot(ctx)
	if err != nil || root.Tasks == "" {
		return nil, err
	}
	var service struct{ Tasks link }
	if _, err := s.read(ctx, string(root.Tasks), &service); err != nil || service.Tasks == "" {
		return nil, err
	}
	paths, err := s.membersUpTo(ctx, string(service.Tasks), maxTasks)
	return paths[max(len(paths)-maxParts, 0):], err
}

// RunningTasks implements bmc.TaskReader.
func (s *session) RunningTasks(ctx context.Context) ([]string, error) {
	ctx, done := withBudget(ctx, callTime)
	defer done()
	running, err := s.runningTasks(ctx)
	return running, s.wrap("list the tasks", err)
}

func (s *session) runningTasks(ctx context.Context) (running []string, err error) {
	paths, err := s.tasks(ctx)
	if err != nil && !skippable(err) {
		return nil, err
	}
	for _, path := range paths {
		var l longTask
		if _, err := s.read(ctx, path, &l); err != nil {
			if !skippable(err) {
				return nil, err
			}
			continue
		}
		if l.State != "" && !l.task().Over() {
			running = append(running, path)
		}
	}
	return running, nil
}
