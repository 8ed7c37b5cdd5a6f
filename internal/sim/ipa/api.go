package ipa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/sim/faults"
)

// The microversions that the real agent uses if the API has them.
const (
	lookupVersion     = 62
	heartbeatVersion  = 68
	inspectionVersion = 84
	oldestVersion     = 31 // what it assumes if it can't ask the API
)

// requestTimeout is the timeout of a request to the API (http_request_timeout).
const requestTimeout = 30 * time.Second

var (
	errNoAPI   = errors.New("the API's address is not known yet")
	errUnheard = errors.New("the connection was reset before the answer came")
)

// do sends a request to the API, as the faults say: twice, or without seeing the answer.
func (a *Agent) do(method, path string, version int, body any) (int, []byte, error) {
	said := faults.Event{Method: method, Path: path, Agent: true}
	if _, twice := a.s.Faults.Trigger(faults.Twice, said); twice {
		if _, _, err := a.send(method, path, version, body); err != nil {
			return 0, nil, err
		}
	}
	status, b, err := a.send(method, path, version, body)
	if err != nil {
		return 0, nil, err
	}
	if _, lost := a.s.Faults.Trigger(faults.Unheard, said); lost {
		return 0, nil, errUnheard
	}
	return status, b, nil
}

// send sends a request and returns at most 4 MiB of the answer.
func (a *Agent) send(method, path string, version int, body any) (int, []byte, error) {
	base := a.fleet.apiURL()
	if base == "" {
		return 0, nil, errNoAPI
	}
	ctx, cancel := context.WithTimeout(a.ctx, requestTimeout)
	defer cancel()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, in)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ironic-python-agent/"+Version)
	if version > 0 {
		req.Header.Set("X-OpenStack-Ironic-API-Version", "1."+strconv.Itoa(version))
	}
	res, err := a.client().Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	return res.StatusCode, b, err
}

// newestVersion returns the API's newest microversion, which its root document has.
func (a *Agent) newestVersion() int {
	status, b, err := a.do(http.MethodGet, "/", 0, nil)
	var d struct {
		Default struct {
			Version string `json:"version"`
		} `json:"default_version"`
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(b, &d) != nil {
		return oldestVersion
	}
	_, minor, _ := strings.Cut(d.Default.Version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return oldestVersion
	}
	return n
}

// lookup sends one lookup, which returns the agent's node.
func (a *Agent) lookup(node string, version int) (l agent.Lookup, status int, err error) {
	if a.fleet.apiURL() != "" {
		a.s.CountLookup()
	}
	q := url.Values{"addresses": {strings.Join(a.s.MACs(), ",")}}
	if node != "" {
		q.Set("node_uuid", node)
	}
	status, b, err := a.do(http.MethodGet, "/v1/lookup?"+q.Encode(), min(version, lookupVersion), nil)
	if err != nil {
		return l, 0, err
	}
	if status != http.StatusOK {
		return l, status, fmt.Errorf("lookup answered %d", status)
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, status, fmt.Errorf("read lookup: %w", err)
	}
	if l.Node.UUID == "" || l.Config.HeartbeatTimeout == 0 {
		return l, status, errors.New("lookup answered without a node or a heartbeat timeout")
	}
	return l, status, nil
}

// lookupUntilFound repeats the lookup as long as the server is on. (The real agent exits
// after five minutes, and systemd starts it again.)
func (a *Agent) lookupUntilFound(node string) (agent.Lookup, bool) {
	conflicts := 0
	for try := 1; ; try++ {
		l, status, err := a.lookup(node, a.newestVersion())
		if err == nil {
			a.logf("lookup succeeded, node UUID is %s", l.Node.UUID)
			return l, true
		}
		a.logf("failed looking up node: %v", err)
		wait := agent.LookupDelay(try, a.rng.Float64())
		if status == http.StatusConflict {
			conflicts++
			wait += agent.LookupConflictDelay(conflicts)
		}
		if !a.sleep(a.scaled(wait)) {
			return agent.Lookup{}, false
		}
	}
}

// heartbeat tells the API where the agent can be reached.
func (a *Agent) heartbeat() error {
	a.s.CountHeartbeat()
	a.mu.Lock()
	h := agent.Heartbeat{
		CallbackURL: a.fleet.callback + "/" + a.s.Name, AgentToken: a.token, AgentVersion: Version, AgentVerifyCA: a.fleet.cert,
	}
	path := "/v1/heartbeat/" + a.node
	a.mu.Unlock()
	status, b, err := a.do(http.MethodPost, path, heartbeatVersion, h)
	if err != nil {
		return err
	}
	if status != http.StatusAccepted {
		return fmt.Errorf("invalid status code: %d: %.200s", status, b)
	}
	return nil
}

// inspect reports the inventory and returns the node's uuid if the API knows it. If it
// fails, the agent continues with its lookup all the same.
func (a *Agent) inspect() string {
	body := a.inspection()
	for try := 1; ; try++ {
		status, b, err := a.do(http.MethodPost, "/v1/continue_inspection", inspectionVersion, body)
		again := err != nil || status == http.StatusConflict || status >= http.StatusInternalServerError
		switch {
		case !again && status < http.StatusBadRequest:
			var in agent.InspectionAnswer
			if json.Unmarshal(b, &in) == nil && in.Node != nil {
				return in.Node.UUID
			}
			return in.UUID
		case !again || try == agent.InspectionAttempts:
			a.logf("inspection callback answered %d %v, proceeding with lookup", status, err)
			return ""
		}
		if !a.sleep(a.scaled(agent.InspectionDelay(try))) {
			return ""
		}
	}
}
