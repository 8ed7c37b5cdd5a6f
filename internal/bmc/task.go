package bmc

import "context"

// TaskReader reads the tasks of a BMC.
type TaskReader interface {
	// Tasks returns the paths of the tasks that the BMC lists.
	Tasks(ctx context.Context) ([]string, error)
	// RunningTasks returns the paths of those that have not ended.
	RunningTasks(ctx context.Context) ([]string, error)
	// Task reads a task. The error is fault.NotFound if the BMC does not know it, as after it has restarted. Many forget tasks that have ended.
	Task(ctx context.Context, path string) (Task, error)
}

// Task is what a BMC does after it has answered the request for it.
type Task struct {
	State    TaskState
	Word     string // the BMC's own, such as Starting
	Percent  int    // that are done; -1 = not told
	Messages string // what the BMC says of it
}

// Over reports whether the task has ended, well or not.
func (t Task) Over() bool { return t.State == TaskEnded || t.State == TaskFailed }

// TaskState is how far a task is.
type TaskState string

// The states of a task.
const (
	TaskRuns   TaskState = "runs"
	TaskWaits  TaskState = "waits" // it has not begun: it may wait for a boot of the server
	TaskEnded  TaskState = "ended"
	TaskFailed TaskState = "failed"
)
