package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Status is how the parts of Temper do.
type Status struct {
	document
	OK        bool      `json:"ok"`
	Parts     []Part    `json:"parts"`
	Processes []Process `json:"processes"`
	// Webhooks are those whose deliveries fail. They have no effect on OK.
	Webhooks []WebhookTrouble `json:"webhooks"`
}

// WebhookTrouble is a webhook whose deliveries fail.
type WebhookTrouble struct {
	Name     string     `json:"name"`
	Since    *time.Time `json:"since"`
	Sentence string     `json:"sentence"` // without a full stop
	Help     []Help     `json:"help"`
}

// Part is how one part of Temper does.
type Part struct {
	Name     string     `json:"name"`
	OK       *bool      `json:"ok"`    // nil = it is not known
	Since    *time.Time `json:"since"` // when it began to be so; nil = not known
	Message  string     `json:"message"`
	Works    string     `json:"works"` // what still works
	Check    string     `json:"check"` // what an operator looks at
	Versions []string   `json:"versions"`
	Help     []Help     `json:"help"` // what somebody can do about it
}

// Broken reports whether it is known that something is wrong with the part.
func (p Part) Broken() bool { return p.OK != nil && !*p.OK }

// PartPostgreSQL is the name of the part without which the API can answer nothing.
const PartPostgreSQL = "postgresql"

// PartsOfProgress are the names of the parts without which no operation goes on, although the API accepts requests.
var PartsOfProgress = []string{"temporal", "orchestrators"}

// Process is a process of Temper.
type Process struct {
	Role    string   `json:"role"`
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Alive   bool     `json:"alive"`
	Silent  float64  `json:"silent_seconds"`
	Ahead   *float64 `json:"clock_ahead_seconds"` // nil = not known
}

// UnmarshalJSON reads it and keeps the answer.
func (s *Status) UnmarshalJSON(raw []byte) error {
	type plain Status
	err := jsonvalue.Unmarshal(raw, (*plain)(s))
	s.document = keep(raw)
	return err
}

// statusTimeout bounds the question how Temper does. The API takes at most about three seconds.
const statusTimeout = 5 * time.Second

// Status asks the API once how the parts of Temper do, for at most five seconds.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	ctx, cancel := context.WithTimeout(ctx, min(statusTimeout, c.timeout))
	defer cancel()
	var s Status
	_, err := c.send(ctx, request{method: http.MethodGet, path: "/temper/v1/status"}, nil, &s)
	return &s, err
}

// NewStatus returns a status that no API has told: these parts are broken, and of others nothing is known.
func NewStatus(parts ...Part) *Status {
	s := &Status{Parts: parts, Processes: []Process{}, Webhooks: []WebhookTrouble{}}
	raw, err := json.Marshal(map[string]any{"ok": s.OK, "parts": s.Parts, "processes": s.Processes, "webhooks": s.Webhooks})
	if err == nil {
		s.document = keep(raw)
	}
	return s
}
