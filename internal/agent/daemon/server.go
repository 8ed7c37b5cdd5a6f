//go:build linux

package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/jsonvalue"
)

// bodyLimit is the largest command: a config drive may have 64 MiB, in base64.
const bodyLimit = 96 << 20

// handle is the command API (ironic_python_agent/api/app.py).
func (a *Agent) handle(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	locked := a.locked
	a.mu.Unlock()
	if locked {
		panic(http.ErrAbortHandler) // the machine belongs to somebody else now
	}
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1"), "/")
	id, one := strings.CutPrefix(path, "/commands/")
	switch {
	case path == "" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, map[string]string{"name": "Temper agent API"})
	case path == "/status" && r.Method == http.MethodGet:
		answer(w, http.StatusOK, agent.AgentStatus{StartedAt: float64(a.started.UnixNano()) / 1e9, Version: agent.Text(a.Version)})
	case path == "/commands" && r.Method == http.MethodPost:
		a.post(ctx, w, r)
	case (path == "/commands" || one) && r.Method == http.MethodGet:
		switch {
		case !a.mayRead(r.URL.Query().Get("agent_token")):
			refuse(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
		case one:
			a.getOne(w, r, id)
		default:
			answer(w, http.StatusOK, agent.CommandList{Commands: a.list()})
		}
	default:
		refuse(w, http.StatusNotFound, "404 Not Found: The requested URL was not found on the server.")
	}
}

// mayRead is ironic-python-agent's rule for GET: no token is needed until a GET had one.
func (a *Agent) mayRead(token string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token != "" {
		a.tokenOnGet = true
	}
	return !a.tokenOnGet || agent.SameToken(a.id.Token, token)
}

func (a *Agent) post(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	trusted := agent.SameToken(a.id.Token, r.URL.Query().Get("agent_token"))
	a.mu.Unlock()
	if !trusted {
		refuse(w, http.StatusUnauthorized, "401 Unauthorized: Token invalid.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "413 Request Entity Too Large: the command can't be read: "+err.Error())
		return
	}
	var c agent.Command
	var params map[string]json.RawMessage
	if jsonvalue.Unmarshal(body, &c) != nil || c.Name == "" || jsonvalue.Unmarshal(c.Params, &params) != nil || params == nil {
		refuse(w, http.StatusBadRequest, "400 Bad Request: Missing or invalid name or params")
		return
	}
	run, failed := a.start(ctx, c)
	if failed != nil {
		refuse(w, failed.Status, failed.Error())
		return
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
		}
	}
	a.mu.Lock()
	result := c.shown()
	a.mu.Unlock()
	answer(w, http.StatusOK, result)
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
