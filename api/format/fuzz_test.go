package format

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a client sends as the version, it gets a version that is served, or an error.
func FuzzNegotiate(f *testing.F) {
	for _, s := range []string{"1.1", "1.115", "latest", "1.116", "1.-1", "1.+1", " 1 . 5 ", "1.99999999999999999999", "", ".", "1..1", "٣.١"} {
		f.Add(s, "baremetal "+s)
	}
	f.Fuzz(func(t *testing.T, own, common string) {
		minor, err := Negotiate(http.Header{"X-Openstack-Ironic-Api-Version": {own}, "Openstack-Api-Version": {common}})
		if err == nil {
			require.GreaterOrEqual(t, minor, MinMinor)
			require.LessOrEqual(t, minor, MaxMinor)
		}
	})
}

// Whatever a PATCH contains, it is refused or its result has no new top-level fields.
func FuzzPatch(f *testing.F) {
	for _, s := range []string{
		`{"op":"add","path":"/extra/a","value":1}`, `{"op":"remove","path":"/extra/b"}`, `{"op":"replace","path":"/extra/l/0","value":null}`,
		`{"op":"add","path":"/extra/l/-","value":{}}`, `{"op":"remove","path":"/extra"}`, `{"op":"add","path":"/extra/l/99","value":1}`, `{"op":"add"}`, `[]`, `{`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		op, err := readPatchOp(json.RawMessage(raw), MaxMinor)
		if err != nil || op.root != "extra" {
			return
		}
		doc, err := patched(map[string]any{"extra": map[string]any{"b": 1, "l": []any{1, 2}}}, []PatchOp{op})
		if err == nil {
			delete(doc, "extra")
			require.Empty(t, doc)
		}
	})
}
