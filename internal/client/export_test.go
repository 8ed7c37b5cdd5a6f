package client

import (
	"net/http"
	"testing"
)

// WithTransport is a Client whose requests go to rt.
func WithTransport(t *testing.T, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := New(Config{URL: "http://api"})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = rt
	return c
}
