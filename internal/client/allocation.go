package client

import (
	"context"
	"net/http"
	"net/url"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Allocation is an allocation as the API shows it.
type Allocation struct {
	document
	UUID           string   `json:"uuid"`
	Name           string   `json:"name"`
	State          string   `json:"state"` // allocating, active or error
	LastError      string   `json:"last_error"`
	ResourceClass  string   `json:"resource_class"`
	NodeUUID       string   `json:"node_uuid"`
	Traits         []string `json:"traits"`
	CandidateNodes []string `json:"candidate_nodes"`
	Owner          string   `json:"owner"`
}

// UnmarshalJSON reads an allocation and keeps the answer.
func (a *Allocation) UnmarshalJSON(raw []byte) error {
	type plain Allocation
	err := jsonvalue.Unmarshal(raw, (*plain)(a))
	a.document = keep(raw)
	return err
}

// Label returns the name of the allocation, or its uuid if it has none.
func (a *Allocation) Label() string {
	if a.Name != "" {
		return a.Name
	}
	return a.UUID
}

// Allocations lists at most limit allocations (0 = DefaultLimit); q holds Ironic's filters, fields and sorting.
func (c *Client) Allocations(ctx context.Context, q url.Values, limit int) (List[Allocation], error) {
	return pages[Allocation](ctx, c, "/v1/allocations", q, "allocations", limit)
}

// Allocation returns an allocation by its uuid or name.
func (c *Client) Allocation(ctx context.Context, ident string) (*Allocation, error) {
	var a Allocation
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/v1/allocations/" + segment(ident)}, &a)
	return &a, err
}

// CreateAllocation creates an allocation with these fields of Ironic's, and returns it in its final state. It reads the
// allocation again, because the answer says allocating, as in Ironic.
func (c *Client) CreateAllocation(ctx context.Context, fields map[string]any) (*Allocation, error) {
	var a Allocation
	_, err := c.do(ctx, request{method: http.MethodPost, path: "/v1/allocations", body: fields}, &a)
	if err != nil || a.State != "allocating" {
		return &a, err
	}
	return c.Allocation(ctx, a.UUID)
}

// DeleteAllocation deletes an allocation and frees its node.
func (c *Client) DeleteAllocation(ctx context.Context, ident string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: "/v1/allocations/" + segment(ident)}, nil)
	return err
}
