package client

import (
	"context"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// Console is the serial console of a node.
type Console struct {
	document
	NodeUUID  string     `json:"node_uuid"`
	NodeName  string     `json:"node_name"`
	Enabled   bool       `json:"enabled"`
	Conductor string     `json:"conductor"` // "" = no live one holds it
	Claim     int64      `json:"claim"`     // another one each time that a conductor begins to hold it
	URL       string     `json:"url"`       // tcp://HOST:PORT; "" = no conductor listens
	Error     string     `json:"error"`
	ErrorAt   *time.Time `json:"error_at"`
	NextAt    *time.Time `json:"next_at"` // nil = it is tried again with the next client
}

// UnmarshalJSON reads the console and keeps the answer.
func (c *Console) UnmarshalJSON(raw []byte) error {
	type plain Console
	err := jsonvalue.Unmarshal(raw, (*plain)(c))
	c.document = keep(raw)
	return err
}

// Console shows the serial console of a node: where it is, and what is wrong with it.
func (c *Client) Console(ctx context.Context, ident string) (Console, error) {
	var out Console
	_, err := c.do(ctx, request{method: http.MethodGet, path: "/temper/v1/nodes/" + segment(ident) + "/console"}, &out)
	return out, err
}

// EnableConsole enables or disables the serial console of a node.
func (c *Client) EnableConsole(ctx context.Context, ident string, on bool) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: nodePath(ident, "states", "console"), body: map[string]bool{"enabled": on}}, nil)
	return err
}
