package apitest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/schemas"
)

// Contract returns openapi.yaml, which is read once.
var Contract = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(schemas.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := Contract()
	if err != nil {
		return nil, err
	}
	served := *doc
	served.Servers = nil
	return gorillamux.NewRouter(&served)
})

// checkContract holds an answer, and the request where it was accepted, against
// openapi.yaml. Paths that are in neither are none of its business.
func checkContract(t testing.TB, r *http.Request, body []byte, a *Answer) {
	t.Helper()
	find, err := router()
	require.NoError(t, err)
	like := r.Clone(t.Context())
	like.URL.Path = tidied(like.URL.Path)
	like.URL.RawPath = ""
	route, params, err := find.FindRoute(like)
	if err != nil {
		require.GreaterOrEqual(t, a.Status, 400, "%s is not in openapi.yaml: %v", a.what, err)
		return
	}
	like.Body = io.NopCloser(bytes.NewReader(body))
	if len(body) > 0 {
		like.Header.Set("Content-Type", "application/json")
	}
	in := &openapi3filter.RequestValidationInput{
		Request: like, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if a.Status < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s was accepted", a.what)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: a.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	out.SetBodyBytes(a.Body)
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), out), "%s: %d %s", a.what, a.Status, a.Body)
}

// tidied is a path as the API takes it before it looks for a route.
func tidied(path string) string {
	path = strings.TrimSuffix(path, ".json")
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if path != "/" && !slices.ContainsFunc([]string{"/v1", "/temper/", "/boot/", "/netboot/", "/images/"}, func(p string) bool { return strings.HasPrefix(path, p) }) {
		path = "/v1" + path
	}
	return path
}
