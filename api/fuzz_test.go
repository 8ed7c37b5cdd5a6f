package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a client calls a version, it gets one that is served or a refusal.
func FuzzNegotiate(f *testing.F) {
	for _, s := range []string{"1.1", "1.95", "latest", "1.96", "1.-1", "1.+1", " 1 . 5 ", "1.99999999999999999999", "", ".", "1..1", "٣.١"} {
		f.Add(s, "baremetal "+s)
	}
	f.Fuzz(func(t *testing.T, own, common string) {
		minor, err := negotiate(http.Header{"X-Openstack-Ironic-Api-Version": {own}, "Openstack-Api-Version": {common}})
		if err == nil {
			require.GreaterOrEqual(t, minor, MinMinor)
			require.LessOrEqual(t, minor, MaxMinor)
		}
	})
}

// Whatever path a stranger asks for, it is changed only as Ironic changes it.
func FuzzTidyPath(f *testing.F) {
	for _, s := range []string{"/", "/v1", "/v1/", "/nodes", "/nodes/", "//", "/v1/nodes/a.json", "/temper/v1/operations", "/.json", "/v1/.json", "*", "0", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = path
		var tidy string
		tidyPath(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tidy = r.URL.Path })).ServeHTTP(httptest.NewRecorder(), r)
		first, _, _ := strings.Cut(strings.TrimPrefix(tidy, "/"), "/")
		require.True(t, ownRoots[first], "%q became %q", path, tidy)
		require.Equal(t, path, r.URL.Path, "the caller's request is not changed")
	})
}

// Whatever a PATCH says, it is refused or gives a document that holds no new root.
func FuzzPatch(f *testing.F) {
	for _, s := range []string{
		`{"op":"add","path":"/extra/a","value":1}`, `{"op":"remove","path":"/extra/b"}`, `{"op":"replace","path":"/extra/l/0","value":null}`,
		`{"op":"add","path":"/extra/l/-","value":{}}`, `{"op":"remove","path":"/extra"}`, `{"op":"add","path":"/extra/l/99","value":1}`, `{"op":"add"}`, `[]`, `{`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		op, err := readPatchOp(json.RawMessage(raw))
		if err != nil || op.root != "extra" {
			return
		}
		doc, err := patched(map[string]any{"extra": map[string]any{"b": 1, "l": []any{1, 2}}}, []patchOp{op})
		if err == nil {
			delete(doc, "extra")
			require.Empty(t, doc)
		}
	})
}
