package client

import (
	"context"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Discovery is a server that is not enrolled.
type Discovery struct {
	document
	UUID         string     `json:"uuid"`
	MACs         []string   `json:"macs"`
	BootMAC      string     `json:"boot_mac"` // from which it booted, "" = not known
	Manufacturer string     `json:"manufacturer"`
	Product      string     `json:"product"`
	Serial       string     `json:"serial"`
	BMCAddress   string     `json:"bmc_address"`
	Arch         string     `json:"cpu_arch"`
	CPUs         int64      `json:"cpus"`
	MemoryMB     int64      `json:"memory_mb"`
	DiskGB       int64      `json:"local_gb"`
	FoundAt      *time.Time `json:"found_at"`
}

// UnmarshalJSON reads a discovery and keeps the answer.
func (d *Discovery) UnmarshalJSON(raw []byte) error {
	type plain Discovery
	err := jsonvalue.Unmarshal(raw, (*plain)(d))
	d.document = keep(raw)
	return err
}

const discoveriesPath = "/temper/v1/discoveries"

// Discoveries lists up to limit servers that are not enrolled (0 = DefaultLimit), without their inventories.
func (c *Client) Discoveries(ctx context.Context, limit int) (List[Discovery], error) {
	return pages[Discovery](ctx, c, discoveriesPath, nil, "discoveries", limit)
}

// Discovery returns one of them, with its inventory.
func (c *Client) Discovery(ctx context.Context, uuid string) (*Discovery, error) {
	d := &Discovery{}
	_, err := c.do(ctx, request{method: http.MethodGet, path: discoveriesPath + "/" + segment(uuid)}, d)
	return d, err
}

// DeleteDiscovery forgets a server. When it boots again it is found anew.
func (c *Client) DeleteDiscovery(ctx context.Context, uuid string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: discoveriesPath + "/" + segment(uuid)}, nil)
	return err
}
