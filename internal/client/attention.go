package client

import (
	"context"
	"net/url"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Attention is a node that needs a person.
type Attention struct {
	document
	NodeUUID  string     `json:"node_uuid"`
	NodeName  string     `json:"node_name"`
	State     string     `json:"provision_state"`
	Reason    string     `json:"reason"`
	Cause     string     `json:"cause"`
	Sentence  string     `json:"sentence"`
	Since     *time.Time `json:"since"` // nil = not known
	Operation string     `json:"operation"`
}

// UnmarshalJSON reads it and keeps the answer.
func (a *Attention) UnmarshalJSON(raw []byte) error {
	type plain Attention
	err := jsonvalue.Unmarshal(raw, (*plain)(a))
	a.document = keep(raw)
	return err
}

// AttentionGroup counts nodes that need a person for the same reason and cause.
type AttentionGroup struct {
	document
	Reason   string     `json:"reason"`
	Cause    string     `json:"cause"`
	Nodes    int        `json:"nodes"`
	Sentence string     `json:"sentence"`
	Advice   string     `json:"advice"` // what to do about the cause; "" = nobody knows
	Since    *time.Time `json:"since"`  // nil = not known
	Names    []string   `json:"names"`  // of some of the nodes
	Help     []Help     `json:"help"`
}

// UnmarshalJSON reads it and keeps the answer.
func (g *AttentionGroup) UnmarshalJSON(raw []byte) error {
	type plain AttentionGroup
	err := jsonvalue.Unmarshal(raw, (*plain)(g))
	g.document = keep(raw)
	return err
}

// Attention lists at most limit nodes that need a person (0 = DefaultLimit), the worst first. q filters as the API does.
func (c *Client) Attention(ctx context.Context, q url.Values, limit int) (List[Attention], error) {
	return pages[Attention](ctx, c, "/temper/v1/why", q, "nodes", limit)
}

// AttentionGroups is Attention for counts by reason and cause.
func (c *Client) AttentionGroups(ctx context.Context, q url.Values, limit int) (List[AttentionGroup], error) {
	grouped := url.Values{"group": {"cause"}}
	for name, values := range q {
		grouped[name] = values
	}
	return pages[AttentionGroup](ctx, c, "/temper/v1/why", grouped, "groups", limit)
}
