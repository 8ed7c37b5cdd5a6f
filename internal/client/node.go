package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Node is a node as the API shows it. In a list it has only the fields that were requested.
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
	err := jsonvalue.Unmarshal(raw, (*plain)(n))
	n.document = keep(raw)
	return err
}

// Label returns the name of the node, or its uuid if it has none.
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

// PatchNode changes fields of a node. With a new driver, resetInterfaces resets the interfaces that p does not set to their
// defaults.
func (c *Client) PatchNode(ctx context.Context, ident string, p Patch, resetInterfaces bool) (*Node, error) {
	q := url.Values{}
	if resetInterfaces {
		q.Set("reset_interfaces", "true")
	}
	var n Node
	_, err := c.do(ctx, request{method: http.MethodPatch, path: nodePath(ident), query: q, body: p}, &n)
	return &n, err
}

// DeleteNode deletes a node.
func (c *Client) DeleteNode(ctx context.Context, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: nodePath(ident)}, nil)
	return err
}

// Work is a request for work on a node.
type Work struct {
	Verb         string         `json:"verb"`                    // Ironic's: active, deleted, manage, power on, soft rebooting, ...
	InstanceInfo map[string]any `json:"instance_info,omitempty"` // keys to set; nil removes one
	ConfigDrive  any            `json:"config_drive,omitempty"`
	Steps        []any          `json:"steps,omitempty"`
	Runbook      string         `json:"runbook,omitempty"` // with the verb clean or service, instead of Steps: uuid or name
	NoRamdisk    bool           `json:"disable_ramdisk,omitempty"`
	// Timeout is how many seconds the operating system gets to power off; 0 = the API's setting.
	Timeout int `json:"timeout,omitempty"`
	// BootDevice is what the verb set_boot_device sets, for the next boot only unless Persistent.
	BootDevice string `json:"boot_device,omitempty"`
	Persistent bool   `json:"persistent,omitempty"`
	// RescuePassword is the password of the user rescue. The verb rescue needs it.
	RescuePassword string `json:"rescue_password,omitempty"`
	// RescueKeys are public keys that may log in as the user rescue, too.
	RescueKeys []string `json:"rescue_ssh_keys,omitempty"`
	// Method and Args are what the verb vendor_passthru calls.
	Method string         `json:"method,omitempty"`
	Args   map[string]any `json:"args,omitempty"`
	Terms
	// Key is the idempotency key: within 24 hours a request with the same key takes effect once. "" = a new one is made.
	Key string `json:"idempotency_key"`
	// DryRun is set by TryWork.
	DryRun bool `json:"dry_run,omitempty"`
}

// Terms say how the operation of a request is carried out.
type Terms struct {
	OnFailure        string `json:"on_failure,omitempty"`         // fail, hold; "" = the API's setting
	WaitForConductor bool   `json:"wait_for_conductor,omitempty"` // wait if no conductor covers the node, instead of being refused
}

// Work requests work on a node. It returns the id of the operation that does it, or "" if the node is in its new state
// already. If the answer is lost, the request is sent again.
func (c *Client) Work(ctx context.Context, ident string, w Work) (operation string, err error) {
	w.DryRun = false
	h, err := c.do(ctx, workRequest(ident, w), nil)
	return h.Get(headerOperation), err
}

// TryWork says what would become of a request for work. It changes nothing.
func (c *Client) TryWork(ctx context.Context, ident string, w Work) (*Trial, error) {
	w.DryRun = true
	var t Trial
	_, err := c.do(ctx, workRequest(ident, w), &t)
	return &t, err
}

func workRequest(ident string, w Work) request {
	if w.Key == "" {
		w.Key = uuid.NewString()
	}
	return request{method: http.MethodPost, path: "/temper/v1/nodes/" + segment(ident) + "/operations", body: w, idempotent: true}
}

// Trial is what would become of a request for work.
type Trial struct {
	document
	Accepted bool        `json:"accepted"`
	Refusals []Refusal   `json:"refusals"`
	Warnings []Warning   `json:"warnings"` // doubts that refuse nothing
	Steps    []TrialStep `json:"steps"`    // with which the operation would begin
	Notes    []string    `json:"notes"`    // what should be known although it refuses nothing
}

// Refusal is a reason why a request would be refused.
type Refusal struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Help    []Help     `json:"help"` // what mends it, in this order
}

// Warning is a doubt about a request that would be accepted: its operation may fail because of it.
type Warning struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// TrialStep is a step of an operation that was not started.
type TrialStep struct {
	Interface string `json:"interface"`
	Step      string `json:"step"`
	Expectation
}

// UnmarshalJSON reads a trial and keeps the answer.
func (t *Trial) UnmarshalJSON(raw []byte) error {
	type plain Trial
	err := jsonvalue.Unmarshal(raw, (*plain)(t))
	t.document = keep(raw)
	return err
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

// Verdict is the result of the validation of one interface.
type Verdict struct {
	Result *bool      `json:"result"` // nil = the driver does not have it
	Reason string     `json:"reason"`
	Code   fault.Code `json:"code"` // "" if the interface is valid
}

// Validation is the result of the validation of a node, by interface.
type Validation struct {
	document
	Interfaces map[string]Verdict
}

// UnmarshalJSON reads a validation and keeps the answer.
func (v *Validation) UnmarshalJSON(raw []byte) error {
	v.document = keep(raw)
	return jsonvalue.Unmarshal(raw, &v.Interfaces)
}

// Validate checks the interfaces of a node without touching its hardware.
func (c *Client) Validate(ctx context.Context, ident string) (*Validation, error) {
	var v Validation
	_, err := c.do(ctx, request{method: http.MethodGet, path: nodePath(ident, "validate")}, &v)
	return &v, err
}

// Event is an entry of a node's history.
type Event struct {
	document
	UUID      string     `json:"uuid"`
	CreatedAt *time.Time `json:"created_at"`
	Severity  string     `json:"severity"`
	Event     string     `json:"event"`
	EventType string     `json:"event_type"`
	Conductor string     `json:"conductor"`
	DeletedAt *time.Time `json:"node_deleted_at"` // when the node was deleted; nil = it is not deleted
	User      string     `json:"user"`
}

// UnmarshalJSON reads an event and keeps the answer.
func (e *Event) UnmarshalJSON(raw []byte) error {
	type plain Event
	err := jsonvalue.Unmarshal(raw, (*plain)(e))
	e.document = keep(raw)
	return err
}

// History lists what happened to a node.
func (c *Client) History(ctx context.Context, ident string, limit int) (List[Event], error) {
	return pages[Event](ctx, c, nodePath(ident, "history"), url.Values{"detail": {strconv.FormatBool(true)}}, "history", limit)
}

// WholeHistory lists what happened to a node, which may be deleted, and to earlier nodes with the same uuid.
func (c *Client) WholeHistory(ctx context.Context, ident string, limit int) (List[Event], error) {
	return pages[Event](ctx, c, "/temper/v1/nodes/"+segment(ident)+"/history", nil, "history", limit)
}

// Deleted is the record of a deleted node.
type Deleted struct {
	document
	ID             string     `json:"id"`
	UUID           string     `json:"uuid"`
	Name           string     `json:"name"`
	Driver         string     `json:"driver"`
	Group          string     `json:"conductor_group"`
	ResourceClass  string     `json:"resource_class"`
	ProvisionState string     `json:"provision_state"`
	CreatedAt      *time.Time `json:"created_at"`
	DeletedAt      *time.Time `json:"deleted_at"`
	DeletedBy      string     `json:"deleted_by"`
}

// UnmarshalJSON reads a record and keeps the answer.
func (d *Deleted) UnmarshalJSON(raw []byte) error {
	type plain Deleted
	d.document = keep(raw)
	return jsonvalue.Unmarshal(raw, (*plain)(d))
}

// Deleted lists deleted nodes, newest first; node is a name or uuid, "" = all.
func (c *Client) Deleted(ctx context.Context, node string, limit int) (List[Deleted], error) {
	q := url.Values{}
	if node != "" {
		q.Set("node", node)
	}
	return pages[Deleted](ctx, c, "/temper/v1/nodes/deleted", q, "nodes", limit)
}
