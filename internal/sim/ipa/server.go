package ipa

import (
	"encoding/json"
	"net/http"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// serve is the agent's command API (ironic_python_agent/api/app.py).
func (a *Agent) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1"), "/")
	id, one := strings.CutPrefix(path, "/commands/")
	switch {
	case path == "" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, map[string]string{"name": "OpenStack Ironic Python Agent API"})
	case path == "/status" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, agent.AgentStatus{StartedAt: float64(a.started.UnixNano()) / 1e9, Version: Version})
	case path == "/commands" && r.Method == http.MethodPost:
		a.post(w, r, body)
	case (path == "/commands" || one) && r.Method == http.MethodGet:
		if !a.mayRead(r.URL.Query().Get("agent_token")) {
			refuse(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
		} else if one {
			a.getOne(w, r, id)
		} else {
			answer(w, http.StatusOK, agent.CommandList{Commands: a.withDuplicates(a.list())})
		}
	default:
		refuse(w, http.StatusNotFound, "404 Not Found: The requested URL was not found on the server.")
	}
}

// mayRead is the agent's rule for GET: no token is needed until a GET had one.
func (a *Agent) mayRead(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token != "" {
		a.tokenOnGet = true
	}
	return !a.tokenOnGet || token == a.token
}

func (a *Agent) post(w http.ResponseWriter, r *http.Request, body []byte) {
	var c agent.Command
	var params map[string]json.RawMessage
	if json.Unmarshal(body, &c) != nil || c.Name == "" || json.Unmarshal(c.Params, &params) != nil || params == nil {
		refuse(w, http.StatusBadRequest, "400 Bad Request: Missing or invalid name or params")
		return
	}
	a.mu.Lock()
	trusted := r.URL.Query().Get("agent_token") == a.token
	a.mu.Unlock()
	if !trusted {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
		return
	}
	run, err := a.start(c)
	status := http.StatusOK
	if err != nil {
		status = err.Status
	}
	a.s.RecordCommand(machine.AgentCommand{Name: c.Name, Boot: a.boot, Step: stepOf(c), Answer: status})
	if err != nil {
		refuse(w, status, err.Error())
		return
	}
	if run.end != nil && !run.async {
		run.end()
		panic(http.ErrAbortHandler)
	}
	a.reply(w, r, run)
}

func (a *Agent) getOne(w http.ResponseWriter, r *http.Request, id string) {
	a.mu.Lock()
	var found *command
	for _, c := range a.results {
		if c.result.ID == id {
			found = c
		}
	}
	a.mu.Unlock()
	if found == nil {
		refuse(w, http.StatusNotFound, failure.NotFound("Command Result with id %s not found.", id).Error())
		return
	}
	a.reply(w, r, found)
}

// reply answers with the command's result, after it has ended if the client asks to wait.
func (a *Agent) reply(w http.ResponseWriter, r *http.Request, c *command) {
	if strings.EqualFold(r.URL.Query().Get("wait"), "true") {
		select {
		case <-c.done:
		case <-r.Context().Done():
		case <-a.ctx.Done():
			panic(http.ErrAbortHandler) // the server was switched off before it could answer
		}
	}
	a.mu.Lock()
	result := a.shown(c)
	a.mu.Unlock()
	answer(w, http.StatusOK, result)
}

func (a *Agent) list() []agent.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]agent.Result, len(a.results))
	for i, c := range a.results {
		out[i] = a.shown(c)
	}
	return out
}

// withDuplicates returns the list, with each command twice if the fault twice strikes.
func (a *Agent) withDuplicates(list []agent.Result) []agent.Result {
	if _, twice := a.s.Faults.Trigger(faults.Twice, faults.Event{Method: http.MethodGet, Path: "/v1/commands", Agent: true}); twice {
		return append(list, list...)
	}
	return list
}

// injectedEnd returns what ends the agent in the middle of the command, nil if no fault does.
func (a *Agent) injectedEnd(c agent.Command) func() {
	e := faults.Event{Method: http.MethodPost, Commands: names(c), Agent: true}
	if _, dies := a.s.Faults.Trigger(faults.AgentDies, e); dies {
		return a.crash
	}
	if _, reboots := a.s.Faults.Trigger(faults.AgentReboots, e); reboots {
		return a.reboot
	}
	return nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has hung up
}

func refuse(w http.ResponseWriter, status int, why string) {
	side := "Client"
	if status >= http.StatusInternalServerError {
		side = "Server"
	}
	answer(w, status, agent.Fault{Faultcode: side, Faultstring: why})
}
