package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/internal/coverage"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/schemas"
)

// contract is openapi.yaml, read once.
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(schemas.OpenAPI)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := contract()
	if err != nil {
		return nil, err
	}
	served := *doc
	served.Servers = nil
	return gorillamux.NewRouter(&served)
})

// checkContract holds an answer, and the request where it was accepted, against
// openapi.yaml. Paths that are in neither are none of its business.
func checkContract(t *testing.T, r *http.Request, body []byte, a *answer) {
	t.Helper()
	find, err := router()
	require.NoError(t, err)
	like := r.Clone(t.Context())
	like.URL.Path = tidied(like.URL.Path)
	like.URL.RawPath = ""
	route, params, err := find.FindRoute(like)
	if err != nil {
		require.GreaterOrEqual(t, a.status, 400, "%s is not in openapi.yaml", a.what)
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
	if a.status < 300 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), "%s was accepted", a.what)
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	out.SetBodyBytes(a.raw)
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), out), "%s: %d %s", a.what, a.status, a.raw)
}

// tidied is a path as the API takes it before it looks for a route.
func tidied(path string) string {
	path = strings.TrimSuffix(path, ".json")
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if path != "/" && !strings.HasPrefix(path, "/v1") && !strings.HasPrefix(path, "/temper/") {
		path = "/v1" + path
	}
	return path
}

// A verb, a state or a kind that openapi.yaml lacks is one that no client was told of.
func TestTheContractNamesEveryVerbStateAndKind(t *testing.T) {
	doc, err := contract()
	require.NoError(t, err)
	var verbs, states, kinds, power []any
	for _, v := range node.Verbs {
		verbs = append(verbs, v.Target)
	}
	for _, p := range node.PowerTargets {
		power = append(power, string(p))
	}
	for _, s := range node.States() {
		states = append(states, string(s))
	}
	for _, k := range node.Kinds() {
		kinds = append(kinds, string(k))
	}
	var conductors []any
	for _, s := range coverage.States {
		conductors = append(conductors, s)
	}
	schema := func(name string) *openapi3.Schema { return doc.Components.Schemas[name].Value }
	require.ElementsMatch(t, verbs, schema("ProvisionRequest").Properties["target"].Value.Enum, "the target of ProvisionRequest")
	require.ElementsMatch(t, conductors, schema("FleetConductor").Properties["state"].Value.Enum, "the state of FleetConductor")
	require.ElementsMatch(t, slices.Concat(verbs, power), schema("OperationRequest").Properties["verb"].Value.Enum, "the verb of OperationRequest")
	require.ElementsMatch(t, append(states, nil), schema("ProvisionState").Enum, "ProvisionState")
	require.ElementsMatch(t, kinds, schema("Kind").Enum, "Kind")
}

var ginParameter = regexp.MustCompile(`:(\w+)`)

func TestRoutesAreThoseOfTheContract(t *testing.T) {
	doc, err := contract()
	require.NoError(t, err)
	var described, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	server, err := api.New(config{Store: stubStore{}, Operations: &operations{}, Drivers: drivers{}})
	require.NoError(t, err)
	for _, r := range server.Routes() {
		served = append(served, r[0]+" "+ginParameter.ReplaceAllString(r[1], "{$1}"))
	}
	slices.Sort(described)
	slices.Sort(served)
	require.Equal(t, described, served)
}
