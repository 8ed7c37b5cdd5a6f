package machine

import (
	"slices"
	"strconv"
	"time"
)

// Task is a Redfish task: an action that goes on after the BMC has answered.
type Task struct {
	ID      string
	Name    string
	Started time.Time
	Ended   time.Time // zero while it runs
	Err     error     // why it failed
}

// Running reports whether the task has not ended.
func (t Task) Running() bool { return t.Ended.IsZero() }

// maxTasks is how many tasks a BMC keeps. It drops the oldest one that has ended.
const maxTasks = 32

// TasksEnabled reports whether actions run as tasks.
func (s *Server) TasksEnabled() bool { return s.env.TaskDelay > 0 }

// StartTask calls do in the background. The task runs at least for the task delay, or until the server is halted.
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
		select {
		case <-time.After(time.Until(t.Started.Add(s.env.TaskDelay))):
		case <-s.halted.Done():
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Ended, t.Err = time.Now(), err
	})
	return *t
}

// Tasks returns the tasks, oldest first.
func (s *Server) Tasks() []Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Task, len(s.tasks))
	for i, t := range s.tasks {
		out[i] = *t
	}
	return out
}

// Task returns the task with that id, if there is one.
func (s *Server) Task(id string) (Task, bool) {
	for _, t := range s.Tasks() {
		if t.ID == id {
			return t, true
		}
	}
	return Task{}, false
}
