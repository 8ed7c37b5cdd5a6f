package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// Power is the power of a node: what is wanted, what was seen and when, in words.
type Power struct {
	Text  string `json:"text"`
	Short string `json:"short"` // for a column of a table
}

// Holder is the operation that holds a node.
type Holder struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// NodePower is the power of a node, and the operation that holds it; nil = none is open.
type NodePower struct {
	UUID      string  `json:"uuid"`
	Power     Power   `json:"power"`
	Operation *Holder `json:"operation"`
}

// powersAtOnce is the API's limit of nodes in one request for their power.
const powersAtOnce = 100

// Powers returns the power of nodes, and what holds them, by their uuids. Nodes that do not exist are left out.
func (c *Client) Powers(ctx context.Context, uuids []string) (map[string]NodePower, error) {
	out := map[string]NodePower{}
	for some := range slices.Chunk(uuids, powersAtOnce) {
		var page struct {
			Nodes []NodePower `json:"nodes"`
		}
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/power", query: url.Values{"node": some}}, &page); err != nil {
			return nil, err
		}
		for _, n := range page.Nodes {
			out[n.UUID] = n
		}
	}
	return out, nil
}
