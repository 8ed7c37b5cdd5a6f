package machine

import (
	"slices"
	"strconv"
	"time"
)

// Task is an action that goes on after its answer.
type Task struct {
	ID      string
	Name    string
	Started time.Time
	Ended   time.Time // zero while it runs
	Err     error     // why it failed
}

// Running is whether the task has not ended.
func (t Task) Running() bool { return t.Ended.IsZero() }

// maxTasks bounds what a BMC remembers; the oldest ended ones go first.
const maxTasks = 32

// TasksEnabled is whether actions run as tasks.
func (s *Server) TasksEnabled() bool { return s.env.TaskDelay > 0 }

// StartTask runs do in the background and keeps the task running for the task
// delay at least.
func (s *Server) StartTask(name string, do func() error) Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	t := &Task{ID: strconv.Itoa(s.nextID), Name: name, Started: time.Now()}
	if len(s.tasks) >= maxTasks {
		if i := slices.IndexFunc(s.tasks, func(o *Task) bool { return !o.Running() }); i >= 0 {
			s.tasks = slices.Delete(s.tasks, i, i+1)
		}
	}
	s.tasks = append(s.tasks, t)
	s.agents.Go(func() {
		err := do()
		time.Sleep(time.Until(t.Started.Add(s.env.TaskDelay)))
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Ended, t.Err = time.Now(), err
	})
	return *t
}

// Tasks lists them, oldest first.
func (s *Server) Tasks() []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Task, len(s.tasks))
	for i, t := range s.tasks {
		out[i] = *t
	}
	return out
}

// Task is the one of that id.
func (s *Server) Task(id string) (Task, bool) {
	for _, t := range s.Tasks() {
		if t.ID == id {
			return t, true
		}
	}
	return Task{}, false
}
