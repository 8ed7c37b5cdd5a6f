package client

import (
	"context"
	"net/http"
)

// VendorMethod is a method of a vendor interface.
type VendorMethod struct {
	HTTPMethods []string `json:"http_methods"`
	Async       bool     `json:"async"`
	Description string   `json:"description"`
}

// VendorMethods returns the methods of the vendor interface of a node, by name.
func (c *Client) VendorMethods(ctx context.Context, ident string) (out map[string]VendorMethod, err error) {
	_, err = c.do(ctx, request{method: http.MethodGet, path: nodePath(ident) + "/vendor_passthru/methods"}, &out)
	return out, err
}

// ReadPassthru calls a method of the vendor interface that reads something of the BMC.
func (c *Client) ReadPassthru(ctx context.Context, ident, method string, args map[string]any) (out map[string]any, err error) {
	_, err = c.do(ctx, request{method: http.MethodGet, path: nodePath(ident) + "/vendor_passthru/" + segment(method), body: args}, &out)
	return out, err
}
