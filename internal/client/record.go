package client

import (
	"context"
	"net/http"
	"net/url"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Collection is one of Ironic's collections of which this program uses nothing but the fields of its items.
type Collection struct {
	path string
	key  string // the field of the answer that has the items
}

// The collections.
var (
	Portgroups       = Collection{"/v1/portgroups", "portgroups"}
	VolumeConnectors = Collection{"/v1/volume/connectors", "connectors"}
	DeployTemplates  = Collection{"/v1/deploy_templates", "deploy_templates"}
	Runbooks         = Collection{"/v1/runbooks", "runbooks"}
	Chassis          = Collection{"/v1/chassis", "chassis"}
	VolumeTargets    = Collection{"/v1/volume/targets", "targets"}
)

func (in Collection) item(ident string) string { return in.path + "/" + segment(ident) }

// Record is an item of a Collection as the API shows it.
type Record struct {
	document
	UUID string `json:"uuid"`
	Name string `json:"name"`
}

// UnmarshalJSON reads a record and keeps the answer.
func (r *Record) UnmarshalJSON(raw []byte) error {
	type plain Record
	err := jsonvalue.Unmarshal(raw, (*plain)(r))
	r.document = keep(raw)
	return err
}

// Label returns the name of the record, or its uuid if it has none.
func (r *Record) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.UUID
}

// Records lists at most limit items (0 = DefaultLimit); q holds Ironic's filters, fields, detail and sorting.
func (c *Client) Records(ctx context.Context, in Collection, q url.Values, limit int) (List[Record], error) {
	return pages[Record](ctx, c, in.path, q, in.key, limit)
}

// Record returns an item by its uuid or, if such items have names, by its name.
func (c *Client) Record(ctx context.Context, in Collection, ident string) (*Record, error) {
	return c.record(ctx, request{method: http.MethodGet, path: in.item(ident)})
}

// CreateRecord creates an item with these fields of Ironic's.
func (c *Client) CreateRecord(ctx context.Context, in Collection, fields map[string]any) (*Record, error) {
	return c.record(ctx, request{method: http.MethodPost, path: in.path, body: fields})
}

// PatchRecord changes fields of an item.
func (c *Client) PatchRecord(ctx context.Context, in Collection, ident string, changes Patch) (*Record, error) {
	return c.record(ctx, request{method: http.MethodPatch, path: in.item(ident), body: changes})
}

// DeleteRecord deletes an item.
func (c *Client) DeleteRecord(ctx context.Context, in Collection, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: in.item(ident)}, nil)
	return err
}

func (c *Client) record(ctx context.Context, r request) (*Record, error) {
	var out Record
	_, err := c.do(ctx, r, &out)
	return &out, err
}
