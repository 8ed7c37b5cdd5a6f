package client

import (
	"context"
	"net/http"
)

// Nodes is the collection of the nodes, which have traits as Runbooks have them.
var Nodes = Collection{"/v1/nodes", "nodes"}

// Traits lists the traits of an item.
func (c *Client) Traits(ctx context.Context, in Collection, ident string) ([]string, error) {
	var body struct {
		Traits []string `json:"traits"`
	}
	_, err := c.do(ctx, request{method: http.MethodGet, path: in.item(ident) + "/traits"}, &body)
	return body.Traits, err
}

// SetTraits replaces all traits of an item.
func (c *Client) SetTraits(ctx context.Context, in Collection, ident string, traits []string) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: in.item(ident) + "/traits", body: map[string]any{"traits": traits}}, nil)
	return err
}

// AddTrait adds one trait to an item.
func (c *Client) AddTrait(ctx context.Context, in Collection, ident, trait string) error {
	_, err := c.do(ctx, request{method: http.MethodPut, path: in.item(ident) + "/traits/" + segment(trait)}, nil)
	return err
}

// RemoveTrait removes one trait from an item.
func (c *Client) RemoveTrait(ctx context.Context, in Collection, ident, trait string) error {
	_, err := c.do(ctx, request{method: http.MethodDelete, path: in.item(ident) + "/traits/" + segment(trait)}, nil)
	return err
}
