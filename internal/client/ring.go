package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// FleetConductor is a conductor as /temper/v1 shows it.
type FleetConductor struct {
	document
	Hostname    string     `json:"hostname"`
	Group       string     `json:"conductor_group"`
	State       string     `json:"state"` // alive, draining, dead, stopped
	Alive       bool       `json:"alive"`
	Late        bool       `json:"late"` // it is alive, and its heartbeat is overdue
	Draining    bool       `json:"draining"`
	Drivers     []string   `json:"drivers"`
	Nodes       int        `json:"nodes"` // that it owns
	Steps       int        `json:"steps"` // that it runs now
	StartedAt   *time.Time `json:"started_at"`
	HeartbeatAt *time.Time `json:"heartbeat_at"`
	TemporalAt  *time.Time `json:"temporal_at"` // its last contact with Temporal
	StoppedAt   *time.Time `json:"stopped_at"`
	Version     string     `json:"version"` // "" = not known
	Help        []Help     `json:"help"`    // what somebody can do about one that does not run
}

// UnmarshalJSON reads a conductor and keeps the answer.
func (k *FleetConductor) UnmarshalJSON(raw []byte) error {
	type plain FleetConductor
	err := jsonvalue.Unmarshal(raw, (*plain)(k))
	k.document = keep(raw)
	return err
}

// Fleet lists all conductors with their states. There are few: they come in one page.
func (c *Client) Fleet(ctx context.Context) ([]FleetConductor, error) {
	var body struct {
		Conductors []FleetConductor `json:"conductors"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/conductors"}, &body)
	return body.Conductors, err
}

// DrainConductor has a conductor take no new steps. Without force, the API refuses it for the last one that covers some node.
func (c *Client) DrainConductor(ctx context.Context, name string, force bool, reason string) (*FleetConductor, error) {
	var k FleetConductor
	_, err := c.do(ctx, request{
		method: http.MethodPost, path: "/temper/v1/conductors/" + segment(name) + "/drain", body: map[string]any{"force": force, "reason": reason},
	}, &k)
	return &k, err
}

// UndrainConductor lets a conductor that was drained take steps again.
func (c *Client) UndrainConductor(ctx context.Context, name string) (*FleetConductor, error) {
	var k FleetConductor
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/temper/v1/conductors/" + segment(name) + "/undrain", body: map[string]any{}}, &k)
	return &k, err
}

// FleetConductor returns a conductor with its state.
func (c *Client) FleetConductor(ctx context.Context, name string) (*FleetConductor, error) {
	var k FleetConductor
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/conductors/" + segment(name)}, &k)
	return &k, err
}

// ForgetConductor removes a conductor that is not alive.
func (c *Client) ForgetConductor(ctx context.Context, name string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/temper/v1/conductors/" + segment(name)}, nil)
	return err
}

// Coverage is a row of the coverage.
type Coverage struct {
	document
	Group       string                         `json:"conductor_group"`
	Driver      string                         `json:"driver"`
	Interfaces  map[string]map[string][]string `json:"interfaces"` // interface, implementation, conductors
	Conductors  []string                       `json:"conductors"`
	Nodes       int                            `json:"nodes"`
	Quarantined int                            `json:"quarantined"`
}

// UnmarshalJSON reads a row and keeps the answer.
func (k *Coverage) UnmarshalJSON(raw []byte) error {
	type plain Coverage
	err := jsonvalue.Unmarshal(raw, (*plain)(k))
	k.document = keep(raw)
	return err
}

// Coverage returns which live conductors cover which nodes, and how many nodes that are.
func (c *Client) Coverage(ctx context.Context) ([]Coverage, error) {
	var body struct {
		Coverage []Coverage `json:"coverage"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/coverage"}, &body)
	return body.Coverage, err
}

// Owner is a node and the conductor that owns it; "" = no conductor covers it.
type Owner struct {
	NodeUUID  string `json:"node_uuid"`
	NodeName  string `json:"node_name"`
	Conductor string `json:"conductor"`
}

// Ring lists at most limit nodes with their owners (0 = DefaultLimit); nil = all groups, all drivers.
func (c *Client) Ring(ctx context.Context, group, driver *string, limit int) (List[Owner], error) {
	q := url.Values{}
	if group != nil {
		q.Set("conductor_group", *group)
	}
	if driver != nil {
		q.Set("driver", *driver)
	}
	return pages[Owner](ctx, c, "/temper/v1/ring", q, "owners", limit)
}

// RingOf returns a node with its owner.
func (c *Client) RingOf(ctx context.Context, node string) (List[Owner], error) {
	return pages[Owner](ctx, c, "/temper/v1/ring", url.Values{"node": {node}}, "owners", 1)
}

// WhatIf is what would happen without some conductors.
type WhatIf struct {
	document
	Epoch       int64          `json:"epoch"`
	Moved       int            `json:"moved"`
	Quarantined int            `json:"quarantined"`
	Gains       map[string]int `json:"gains"` // nodes by the conductor they would go to
	Quarantines []struct {
		NodeUUID string `json:"node_uuid"`
		NodeName string `json:"node_name"`
	} `json:"quarantines"`
}

// UnmarshalJSON reads the answer and keeps it.
func (k *WhatIf) UnmarshalJSON(raw []byte) error {
	type plain WhatIf
	err := jsonvalue.Unmarshal(raw, (*plain)(k))
	k.document = keep(raw)
	return err
}

// WhatIf says which nodes would move, and which no conductor would cover. It changes nothing.
func (c *Client) WhatIf(ctx context.Context, without []string, group *string) (*WhatIf, error) {
	q := url.Values{"without": {strings.Join(without, ",")}}
	if group != nil {
		q.Set("conductor_group", *group)
	}
	var w WhatIf
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/ring/what-if", query: q}, &w)
	return &w, err
}

// Queued is a reconciliation that was queued.
type Queued struct {
	document
	Late bool     `json:"late"`                   // no orchestrator seems to run it
	Ago  *float64 `json:"reconciled_seconds_ago"` // since one ended last; nil = none has ended
}

// UnmarshalJSON reads the answer and keeps it.
func (q *Queued) UnmarshalJSON(raw []byte) error {
	type plain Queued
	err := jsonvalue.Unmarshal(raw, (*plain)(q))
	q.document = keep(raw)
	return err
}

// Reconcile queues a reconciliation, which the next orchestrator runs.
func (c *Client) Reconcile(ctx context.Context) (*Queued, error) {
	var q Queued
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/temper/v1/reconcile"}, &q)
	return &q, err
}
