package client

import (
	"context"
	"net/http"
	"net/url"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Port is a port as the API shows it.
type Port struct {
	document
	UUID            string `json:"uuid"`
	Address         string `json:"address"`
	Name            string `json:"name"`
	NodeUUID        string `json:"node_uuid"`
	PXEEnabled      bool   `json:"pxe_enabled"`
	PhysicalNetwork string `json:"physical_network"`
}

// UnmarshalJSON reads a port and keeps the answer.
func (p *Port) UnmarshalJSON(raw []byte) error {
	type plain Port
	err := jsonvalue.Unmarshal(raw, (*plain)(p))
	p.document = keep(raw)
	return err
}

// Ports lists at most limit ports (0 = DefaultLimit); q holds Ironic's filters, fields, detail and sorting.
func (c *Client) Ports(ctx context.Context, q url.Values, limit int) (List[Port], error) {
	return pages[Port](ctx, c, "/v1/ports", q, "ports", limit)
}

// Port returns a port by its uuid or name.
func (c *Client) Port(ctx context.Context, ident string) (*Port, error) {
	var p Port
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/ports/" + segment(ident)}, &p)
	return &p, err
}

// CreatePort creates a port with these fields of Ironic's.
func (c *Client) CreatePort(ctx context.Context, fields map[string]any) (*Port, error) {
	var p Port
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/ports", body: fields}, &p)
	return &p, err
}

// PatchPort changes fields of a port.
func (c *Client) PatchPort(ctx context.Context, ident string, changes Patch) (*Port, error) {
	var p Port
	_, err := c.do(ctx, request{method: http.MethodPatch, path: "/v1/ports/" + segment(ident), body: changes}, &p)
	return &p, err
}

// DeletePort deletes a port.
func (c *Client) DeletePort(ctx context.Context, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/v1/ports/" + segment(ident)}, nil)
	return err
}
