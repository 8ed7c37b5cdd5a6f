package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Health is the health of a node as its BMC told it last.
type Health struct {
	document
	NodeUUID string         `json:"node_uuid"`
	NodeName string         `json:"node_name"`
	Status   string         `json:"status"`
	Reasons  []HealthReason `json:"reasons"`
	Since    *time.Time     `json:"since"`   // nil = it was never read
	ReadAt   *time.Time     `json:"read_at"` // nil = it was never read
	Withheld bool           `json:"withheld"`
}

// HealthReason is a part of a node with which something is wrong.
type HealthReason struct {
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	Severity string     `json:"severity"`
	Message  string     `json:"message"`
	Since    *time.Time `json:"since"`
}

// UnmarshalJSON reads the health and keeps the answer.
func (h *Health) UnmarshalJSON(raw []byte) error {
	type plain Health
	err := jsonvalue.Unmarshal(raw, (*plain)(h))
	h.document = keep(raw)
	return err
}

// Health shows the health of a node.
func (c *Client) Health(ctx context.Context, ident string) (Health, error) {
	var out Health
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/" + segment(ident) + "/health"}, &out)
	return out, err
}

// HealthList lists the health of nodes, of one status only unless that is empty.
func (c *Client) HealthList(ctx context.Context, status string, limit int) (List[Health], error) {
	q := url.Values{}
	if status != "" {
		q.Set("status", status)
	}
	return pages[Health](ctx, c, "/temper/v1/nodes/health", q, "nodes", limit)
}
