package redfish

import (
	"net/http"
	"time"

	"go.temper.dev/temper/internal/sim/machine"
)

func taskRoutes() map[string]resource {
	return map[string]resource{
		root + "/TaskService": {get: getTaskService},
		tasks:                 {get: getTasks},
		tasks + "/{id}":       {get: getTask},
	}
}

func getTaskService(*call) (m, error) {
	return m{
		"@odata.type": "#TaskService.v1_2_1.TaskService", "@odata.id": root + "/TaskService", "Id": "TaskService",
		"Name": "Task Service", "ServiceEnabled": true, "Status": enabled, "Tasks": ref(tasks),
	}, nil
}

func getTasks(c *call) (m, error) {
	var members []string
	for _, t := range c.s.Tasks() {
		members = append(members, tasks+"/"+t.ID)
	}
	return collection(tasks, "Task", "Tasks", members...), nil
}

func getTask(c *call) (m, error) {
	t, ok := c.s.Task(c.PathValue("id"))
	if !ok {
		return nil, missing(c)
	}
	return task(t), nil
}

func task(t machine.Task) m {
	out := m{
		"@odata.type": "#Task.v1_7_4.Task", "@odata.id": tasks + "/" + t.ID, "Id": t.ID, "Name": t.Name,
		"TaskState": "Running", "TaskStatus": "OK", "PercentComplete": 50, "StartTime": t.Started.UTC().Format(time.RFC3339),
		"TaskMonitor": monitors + "/" + t.ID, "Messages": []any{},
	}
	if t.Running() {
		return out
	}
	out["EndTime"], out["PercentComplete"], out["TaskState"] = t.Ended.UTC().Format(time.RFC3339), 100, "Completed"
	if t.Err != nil {
		out["TaskState"], out["TaskStatus"] = "Exception", "Critical"
		out["Messages"] = []any{m{"MessageId": "Base.1.17.GeneralError", "Message": t.Err.Error(), "MessageSeverity": "Critical"}}
	}
	return out
}

// accepted returns the 202 that links to a task.
func accepted(t machine.Task) reply {
	return reply{
		status: http.StatusAccepted, location: monitors + "/" + t.ID,
		header: map[string]string{"Retry-After": "1"}, body: task(t),
	}
}

// monitor is the task monitor: it answers 202 while the task runs, and then as the action
// itself would have answered (DSP0266, 12.2).
func monitor(w http.ResponseWriter, r *http.Request) {
	s := callOf(r).s
	t, ok := s.Task(r.PathValue("id"))
	switch {
	case !ok:
		problem(http.StatusNotFound, "ResourceMissingAtURI", r.URL.Path).write(w)
	case t.Running():
		accepted(t).write(w)
	case t.Err != nil:
		fail(w, t.Err)
	default:
		reply{}.write(w)
	}
}
