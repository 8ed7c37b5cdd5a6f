package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Driver is a hardware type that conductors have.
type Driver struct {
	document
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
	Type  string   `json:"type"`
}

// UnmarshalJSON reads a driver and keeps the answer.
func (d *Driver) UnmarshalJSON(raw []byte) error {
	type plain Driver
	err := jsonvalue.Unmarshal(raw, (*plain)(d))
	d.document = keep(raw)
	return err
}

// Drivers lists the hardware types that live conductors have. The API returns them in one page.
func (c *Client) Drivers(ctx context.Context) ([]Driver, error) {
	var body struct {
		Drivers []Driver `json:"drivers"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/drivers"}, &body)
	return body.Drivers, err
}

// Driver returns a hardware type with its interfaces.
func (c *Client) Driver(ctx context.Context, name string) (*Driver, error) {
	var d Driver
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/drivers/" + segment(name)}, &d)
	return &d, err
}

// DriverProperties returns the properties of a hardware type's driver_info with their descriptions.
func (c *Client) DriverProperties(ctx context.Context, name string) (map[string]string, error) {
	var p map[string]string
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/drivers/" + segment(name) + "/properties"}, &p)
	return p, err
}

// LogicalDiskProperties returns the properties of the logical disks in a hardware type's RAID configurations with their
// descriptions; nil if it has no RAID.
func (c *Client) LogicalDiskProperties(ctx context.Context, name string) (map[string]string, error) {
	var p map[string]string
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/drivers/" + segment(name) + "/raid/logical_disk_properties"}, &p)
	if StatusOf(err) == http.StatusNotFound { // also from an API that does not have the route
		return nil, nil
	}
	return p, err
}

// Conductor is a conductor as the API shows it.
type Conductor struct {
	document
	Hostname  string     `json:"hostname"`
	Group     string     `json:"conductor_group"`
	Alive     bool       `json:"alive"`
	Drivers   []string   `json:"drivers"`
	CreatedAt *time.Time `json:"created_at"` // when it started
	UpdatedAt *time.Time `json:"updated_at"` // its last heartbeat
}

// UnmarshalJSON reads a conductor and keeps the answer.
func (k *Conductor) UnmarshalJSON(raw []byte) error {
	type plain Conductor
	err := jsonvalue.Unmarshal(raw, (*plain)(k))
	k.document = keep(raw)
	return err
}

// Conductors lists at most limit conductors (0 = DefaultLimit), with all of their fields.
func (c *Client) Conductors(ctx context.Context, limit int) (List[Conductor], error) {
	return pages[Conductor](ctx, c, "/v1/conductors", url.Values{"detail": {"true"}}, "conductors", limit)
}

// Conductor returns a conductor by its name.
func (c *Client) Conductor(ctx context.Context, name string) (*Conductor, error) {
	var k Conductor
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/conductors/" + segment(name)}, &k)
	return &k, err
}
