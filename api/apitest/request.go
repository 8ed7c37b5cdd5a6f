package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stretchr/testify/require"
)

// Newest is the minor microversion of requests that name none.
const Newest = 115

// Headers of Ironic's microversions: the one that is asked for or served, and
// the newest that is served.
const (
	VersionHeader    = "X-OpenStack-Ironic-API-Version"
	MaxVersionHeader = "X-OpenStack-Ironic-API-Maximum-Version"
)

// Get sends a GET with the newest microversion.
func (b *Bench) Get(path string) *Answer { return b.At(Newest, "GET", path, nil) }

// Delete sends a DELETE with the newest microversion.
func (b *Bench) Delete(path string) *Answer { return b.At(Newest, "DELETE", path, nil) }

// Post sends a POST with the newest microversion; the body is as in At.
func (b *Bench) Post(path string, body any) *Answer { return b.At(Newest, "POST", path, body) }

// Put sends a PUT with the newest microversion; the body is as in At.
func (b *Bench) Put(path string, body any) *Answer { return b.At(Newest, "PUT", path, body) }

// Patch sends a PATCH with the newest microversion.
func (b *Bench) Patch(path string, ops ...Op) *Answer { return b.At(Newest, "PATCH", path, ops) }

// Op is one operation of a JSON patch.
type Op map[string]any

// Add returns the operation that adds a value.
func Add(path string, v any) Op { return Op{"op": "add", "path": path, "value": v} }

// Replace returns the operation that replaces a value.
func Replace(path string, v any) Op { return Op{"op": "replace", "path": path, "value": v} }

// Remove returns the operation that removes a value.
func Remove(path string) Op { return Op{"op": "remove", "path": path} }

// At sends a request with microversion 1.minor; with 0 it sends no header. The
// body is sent as JSON, a string as it is, and nil as nothing.
func (b *Bench) At(minor int, method, path string, body any) *Answer {
	b.T.Helper()
	h := http.Header{}
	if minor != 0 {
		h.Set(VersionHeader, fmt.Sprintf("1.%d", minor))
	}
	return b.With(h, method, path, body)
}

// With sends a request with these headers, and as User where there is one. The
// request, where it is accepted, and the answer must be as openapi.yaml says.
func (b *Bench) With(h http.Header, method, path string, body any) *Answer {
	b.T.Helper()
	var sent []byte
	switch v := body.(type) {
	case nil:
	case string:
		sent = []byte(v)
	default:
		raw, err := json.Marshal(v)
		require.NoError(b.T, err)
		sent = raw
	}
	r := httptest.NewRequestWithContext(b.T.Context(), method, path, bytes.NewReader(sent))
	for k, v := range h {
		r.Header[k] = v
	}
	for k, v := range b.headers {
		r.Header[k] = v
	}
	if name, password, ok := strings.Cut(b.User, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	a := b.Serve(r)
	checkContract(b.T, r, sent, a)
	b.checkAudit(r, a)
	b.Last = a
	return a
}

// Serve sends a request as it is and checks nothing. It may be called
// concurrently.
func (b *Bench) Serve(r *http.Request) *Answer {
	w := httptest.NewRecorder()
	b.Handler.ServeHTTP(w, r)
	return &Answer{t: b.T, what: r.Method + " " + r.URL.RequestURI(), Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}
