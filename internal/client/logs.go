package client

import (
	"context"
	"net/http"
	"time"
)

// Kinds of logs.
const (
	AgentLog   = "agent"   // what the agent logged before a step failed
	ConsoleLog = "console" // what the server printed on its serial console while it booted
)

// Log is something that was written while an operation ran.
type Log struct {
	Operation int64     `json:"operation"`
	Kind      string    `json:"kind"` // AgentLog, ConsoleLog
	Step      string    `json:"step"` // that failed, or that booted the server
	Conductor string    `json:"conductor"`
	At        time.Time `json:"at"`
	Content   string    `json:"content"`
}

// Logs returns the logs of a node, the newest first.
func (c *Client) Logs(ctx context.Context, ident string) ([]Log, error) {
	var out struct {
		Logs []Log `json:"logs"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/" + segment(ident) + "/logs"}, &out)
	return out.Logs, err
}
