package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
)

// patchOp is one operation of a PATCH: Ironic's subset of RFC 6902 (common/args.py).
type patchOp struct {
	op    string
	path  string
	root  string // the first segment of path
	value any    // nil for remove
	raw   json.RawMessage
}

// maxPatchOps bounds a PATCH.
const maxPatchOps = 1000

// patchPath is Ironic's: keys of letters, digits, "_" and "-" only.
var patchPath = regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`)

// readPatch reads the body of a PATCH.
func readPatch(c *gin.Context) ([]patchOp, error) {
	var body json.RawMessage
	if err := readJSON(c, maxBody, &body); err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if len(body) > 0 {
		if err := json.Unmarshal(body, &raw); err != nil {
			return nil, fault.New(fault.Invalid, `The request body must be a list of patch operations, like [{"op": "add", "path": "/extra/a", "value": 1}]`)
		}
	}
	if len(raw) > maxPatchOps {
		return nil, fault.New(fault.Invalid, "Schema error for patch: %d operations are more than %d", len(raw), maxPatchOps)
	}
	ops := make([]patchOp, 0, len(raw))
	for _, r := range raw {
		op, err := readPatchOp(r)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func readPatchOp(raw json.RawMessage) (patchOp, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return patchOp{}, fault.New(fault.Invalid, "Schema error for patch: an operation is not of type 'object'")
	}
	p := patchOp{raw: raw}
	for name, v := range fields {
		var err error
		switch name {
		case "op":
			err = json.Unmarshal(v, &p.op)
		case "path":
			err = json.Unmarshal(v, &p.path)
		case "value":
			// It may be of any type, so all that can be wrong is a number.
			if err := json.Unmarshal(v, &p.value); err != nil {
				return patchOp{}, badJSON(err)
			}
		default:
			return patchOp{}, fault.New(fault.Invalid, "Schema error for patch: Additional properties are not allowed ('%s' was unexpected)", clip(name))
		}
		if err != nil {
			return patchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' is not of type 'string'", name)
		}
	}
	_, hasValue := fields["value"]
	switch {
	case p.op != "add" && p.op != "replace" && p.op != "remove":
		return patchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' is not one of ['add', 'replace', 'remove']", clip(p.op))
	case !patchPath.MatchString(p.path):
		return patchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' does not match '^(/[\\\\w-]+)+$'", clip(p.path))
	case p.op != "remove" && !hasValue:
		return patchOp{}, fault.New(fault.Invalid, "Couldn't apply patch '%s %s'. Reason: The operation does not contain a 'value' member", p.op, clip(p.path))
	}
	p.root, _, _ = strings.Cut(p.path[1:], "/")
	return p, nil
}

// patched applies the operations one by one, so that an error names the one it
// came from. Values are not repeated: they may be secrets.
func patched(doc map[string]any, ops []patchOp) (map[string]any, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fault.New(fault.Internal, "write document to patch: %w", err)
	}
	for _, op := range ops {
		one, err := jsonpatch.DecodePatch([]byte("[" + string(op.raw) + "]"))
		if err == nil {
			text, err = one.Apply(text)
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "Couldn't apply patch '%s %s'. Reason: %s", op.op, clip(op.path), whyNot(op, err))
		}
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.New(fault.Internal, "read patched document: %w", err)
	}
	return out, nil
}

// whyNot says why an operation could not be applied; what is not there is told
// as by the jsonpatch that Ironic uses.
func whyNot(op patchOp, err error) string {
	if errors.Is(err, jsonpatch.ErrMissing) && op.op != "add" {
		return fmt.Sprintf("can't %s a non-existent object '%s'", op.op, clip(op.path[strings.LastIndex(op.path, "/")+1:]))
	}
	return clip(err.Error())
}

// roots are the first path segments of a PATCH, each once.
func roots(ops []patchOp) []string {
	var out []string
	seen := map[string]bool{}
	for _, op := range ops {
		if !seen[op.root] {
			seen[op.root] = true
			out = append(out, op.root)
		}
	}
	return out
}

// cannotPatch is the refusal of a root field that is not for clients.
func cannotPatch(path string, allowed []string) error {
	return fault.New(fault.Invalid, "Cannot patch %s. Only the following can be updated: %s", clip(path), strings.Join(allowed, ", "))
}
