package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Node is a node as the API shows it; a list shows what was asked for of it.
type Node struct {
	document
	UUID                 string         `json:"uuid"`
	Name                 string         `json:"name"`
	Driver               string         `json:"driver"`
	ProvisionState       string         `json:"provision_state"`
	TargetProvisionState string         `json:"target_provision_state"`
	PowerState           string         `json:"power_state"`
	TargetPowerState     string         `json:"target_power_state"`
	Maintenance          bool           `json:"maintenance"`
	Reservation          string         `json:"reservation"`
	InstanceUUID         string         `json:"instance_uuid"`
	Protected            bool           `json:"protected"`
	InstanceInfo         map[string]any `json:"instance_info"`
	LastError            string         `json:"last_error"`
}

// UnmarshalJSON reads a node and keeps the answer.
func (n *Node) UnmarshalJSON(raw []byte) error {
	type plain Node
	err := json.Unmarshal(raw, (*plain)(n))
	n.document = keep(raw)
	return err
}

// Label is how people call the node: its name, or its uuid where it has none.
func (n *Node) Label() string {
	if n.Name != "" {
		return n.Name
	}
	return n.UUID
}

func nodePath(ident string, more ...string) string {
	path := "/v1/nodes/" + segment(ident)
	for _, m := range more {
		path += "/" + segment(m)
	}
	return path
}

// Nodes lists at most limit nodes (0 = DefaultLimit); q holds Ironic's filters, fields, detail and sorting.
func (c *Client) Nodes(ctx context.Context, q url.Values, limit int) (List[Node], error) {
	return pages[Node](ctx, c, "/v1/nodes", q, "nodes", limit)
}

// Node gives a node by its name or uuid; fields = only these, none = all.
func (c *Client) Node(ctx context.Context, ident string, fields ...string) (*Node, error) {
	var n Node
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident), query: fieldsQuery(fields)}, &n)
	return &n, err
}

// CreateNode enrols a node with these fields of Ironic's.
func (c *Client) CreateNode(ctx context.Context, fields map[string]any) (*Node, error) {
	var n Node
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/nodes", body: fields}, &n)
	return &n, err
}

// PatchNode changes fields of a node. resetInterfaces goes with a new driver: what is not named gets its default.
func (c *Client) PatchNode(ctx context.Context, ident string, p Patch, resetInterfaces bool) (*Node, error) {
	q := url.Values{}
	if resetInterfaces {
		q.Set("reset_interfaces", "true")
	}
	var n Node
	_, err := c.do(ctx, request{method: http.MethodPatch, path: nodePath(ident), query: q, body: p}, &n)
	return &n, err
}

// DeleteNode forgets a node.
func (c *Client) DeleteNode(ctx context.Context, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: nodePath(ident)}, nil)
	return err
}

// Provision is a request to change a node's provision state.
type Provision struct {
	Target         string `json:"target"` // Ironic's verb: active, deleted, manage, ...
	ConfigDrive    any    `json:"configdrive,omitempty"`
	CleanSteps     []any  `json:"clean_steps,omitempty"`
	DeploySteps    []any  `json:"deploy_steps,omitempty"`
	DisableRamdisk bool   `json:"disable_ramdisk,omitempty"`
	Terms          `json:"-"`
}

// Terms are how what a request begins is to go.
type Terms struct {
	OnFailure        string // fail, hold; "" = the API's setting
	WaitForConductor bool   // where nobody covers the node, instead of being refused
}

func (t Terms) query() url.Values {
	q := url.Values{}
	if t.OnFailure != "" {
		q.Set("on_failure", t.OnFailure)
	}
	if t.WaitForConductor {
		q.Set("wait_for_conductor", "true")
	}
	return q
}

// Provision asks for a change of the provision state, and gives the operation that does it; "" where the node is there at once.
func (c *Client) Provision(ctx context.Context, ident string, p Provision) (operation string, err error) {
	r := request{method: http.MethodPut, path: nodePath(ident, "states", "provision"), query: p.query(), body: p}
	h, err := c.do(ctx, r, nil)
	return h.Get(headerOperation), err
}

// Power asks for a power state, in Ironic's words ("power on", "soft rebooting", ...), and gives the operation that does it.
// timeout is for the soft ones, in whole seconds; 0 = the setting.
func (c *Client) Power(ctx context.Context, ident, target string, timeout time.Duration, t Terms) (operation string, err error) {
	body := map[string]any{"target": target}
	if timeout > 0 {
		body["timeout"] = int(timeout.Round(time.Second) / time.Second)
	}
	h, err := c.do(ctx, request{method: http.MethodPut, path: nodePath(ident, "states", "power"), query: t.query(), body: body}, nil)
	return h.Get(headerOperation), err
}

// SetMaintenance puts a node into maintenance.
func (c *Client) SetMaintenance(ctx context.Context, ident, reason string) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: nodePath(ident, "maintenance"), body: map[string]string{"reason": reason}}, nil)
	return err
}

// UnsetMaintenance takes a node out of maintenance.
func (c *Client) UnsetMaintenance(ctx context.Context, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: nodePath(ident, "maintenance")}, nil)
	return err
}

// Verdict is what validation says of one interface.
type Verdict struct {
	Result *bool  `json:"result"` // nil = the driver does not have it
	Reason string `json:"reason"`
}

// Validation is what validation says of a node, by interface.
type Validation struct {
	document
	Interfaces map[string]Verdict
}

// UnmarshalJSON reads a validation and keeps the answer.
func (v *Validation) UnmarshalJSON(raw []byte) error {
	v.document = keep(raw)
	return json.Unmarshal(raw, &v.Interfaces)
}

// Validate checks the interfaces of a node without touching its hardware.
func (c *Client) Validate(ctx context.Context, ident string) (*Validation, error) {
	var v Validation
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident, "validate")}, &v)
	return &v, err
}

// Event is a line of a node's history.
type Event struct {
	document
	UUID      string     `json:"uuid"`
	CreatedAt *time.Time `json:"created_at"`
	Severity  string     `json:"severity"`
	Event     string     `json:"event"`
	EventType string     `json:"event_type"`
	Conductor string     `json:"conductor"`
	User      string     `json:"user"`
}

// UnmarshalJSON reads an event and keeps the answer.
func (e *Event) UnmarshalJSON(raw []byte) error {
	type plain Event
	err := json.Unmarshal(raw, (*plain)(e))
	e.document = keep(raw)
	return err
}

// History lists what happened to a node.
func (c *Client) History(ctx context.Context, ident string, limit int) (List[Event], error) {
	return pages[Event](ctx, c, nodePath(ident, "history"), url.Values{"detail": {strconv.FormatBool(true)}}, "history", limit)
}

// Traits lists a node's traits.
func (c *Client) Traits(ctx context.Context, ident string) ([]string, error) {
	var body struct {
		Traits []string `json:"traits"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident, "traits")}, &body)
	return body.Traits, err
}

// SetTraits replaces all traits of a node.
func (c *Client) SetTraits(ctx context.Context, ident string, traits []string) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: nodePath(ident, "traits"), body: map[string]any{"traits": traits}}, nil)
	return err
}

// AddTrait adds one trait to a node.
func (c *Client) AddTrait(ctx context.Context, ident, trait string) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: nodePath(ident, "traits", trait)}, nil)
	return err
}

// RemoveTrait takes one trait from a node.
func (c *Client) RemoveTrait(ctx context.Context, ident, trait string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: nodePath(ident, "traits", trait)}, nil)
	return err
}
