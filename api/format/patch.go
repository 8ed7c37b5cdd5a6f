package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evanphx/json-patch/v5"
	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/audit"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// PatchOp is one operation of a PATCH: Ironic's subset of RFC 6902 (common/args.py).
type PatchOp struct {
	Op    string
	Path  string
	root  string // the first segment of path
	Value any    // nil for remove
	raw   json.RawMessage
}

// maxPatchOps bounds a PATCH.
const maxPatchOps = 1000

// patchPath is Ironic's: keys of letters, digits, "_" and "-" only. escapedPath also has "~0" for "~" and "~1" for "/" (RFC 6901).
var (
	patchPath   = regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`)
	escapedPath = regexp.MustCompile(`^(/([\p{L}\p{N}_-]|~[01])+)+$`)
)

// minorEscapedPath is the version that takes keys with "~" and "/".
const minorEscapedPath = 98

// ReadPatch reads the body of a PATCH.
func ReadPatch(c *gin.Context) ([]PatchOp, error) {
	var body json.RawMessage
	if err := ReadJSON(c, MaxBody, &body); err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := jsonvalue.Unmarshal(body, &raw); err != nil || raw == nil { // null, or nothing
		return nil, fault.New(fault.Invalid, `The request body must be a list of patch operations, like [{"op": "add", "path": "/extra/a", "value": 1}]`)
	}
	if len(raw) > maxPatchOps {
		return nil, fault.New(fault.Invalid, "Schema error for patch: %d operations are more than %d", len(raw), maxPatchOps)
	}
	ops := make([]PatchOp, 0, len(raw))
	for _, r := range raw {
		op, err := readPatchOp(r, Minor(c))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	audit.Of(c.Request.Context()).Names(Roots(ops)...)
	return ops, nil
}

func readPatchOp(raw json.RawMessage, minor int) (PatchOp, error) {
	var fields map[string]json.RawMessage
	if err := jsonvalue.Unmarshal(raw, &fields); err != nil {
		return PatchOp{}, fault.New(fault.Invalid, "Schema error for patch: an operation is not of type 'object'")
	}
	p := PatchOp{raw: raw}
	for name, v := range fields {
		var err error
		switch name {
		case "op":
			err = jsonvalue.Unmarshal(v, &p.Op)
		case "path":
			err = jsonvalue.Unmarshal(v, &p.Path)
		case "value":
			// It may be of any type, so all that can be wrong is a number.
			if err := jsonvalue.Unmarshal(v, &p.Value); err != nil {
				return PatchOp{}, BadJSON(err)
			}
		default:
			return PatchOp{}, fault.New(fault.Invalid, "Schema error for patch: Additional properties are not allowed ('%s' was unexpected)", Clip(name))
		}
		if err != nil {
			return PatchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' is not of type 'string'", name)
		}
	}
	_, hasValue := fields["value"]
	allowed := patchPath
	if minor >= minorEscapedPath {
		allowed = escapedPath
	}
	switch {
	case p.Op != "add" && p.Op != "replace" && p.Op != "remove":
		return PatchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' is not one of ['add', 'replace', 'remove']", Clip(p.Op))
	case !allowed.MatchString(p.Path):
		return PatchOp{}, fault.New(fault.Invalid, "Schema error for patch: '%s' does not match '^(/[\\\\w-]+)+$'", Clip(p.Path))
	case p.Op != "remove" && !hasValue:
		return PatchOp{}, fault.New(fault.Invalid, "Couldn't apply patch '%s %s'. Reason: The operation does not contain a 'value' member", p.Op, Clip(p.Path))
	case strings.Count(p.Path, "/")+jsonvalue.Depth(p.Value) > maxDepth: // of the document afterwards
		return PatchOp{}, fault.New(fault.Invalid, "Couldn't apply patch '%s %s'. Reason: The value would be nested deeper than %d", p.Op, Clip(p.Path), maxDepth)
	}
	p.root, _, _ = strings.Cut(p.Path[1:], "/")
	return p, nil
}

// patched applies the operations one by one, so that an error names the one it
// came from. Values are not repeated: they may be secrets.
func patched(doc map[string]any, ops []PatchOp) (map[string]any, error) {
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
			return nil, fault.New(fault.Invalid, "Couldn't apply patch '%s %s'. Reason: %s", op.Op, Clip(op.Path), whyNot(op, err))
		}
	}
	var out map[string]any
	if err := jsonvalue.Unmarshal(text, &out); err != nil {
		return nil, fault.New(fault.Internal, "read patched document: %w", err)
	}
	return out, nil
}

// whyNot says why an operation could not be applied; what is not there is told
// as by the jsonpatch that Ironic uses.
func whyNot(op PatchOp, err error) string {
	if errors.Is(err, jsonpatch.ErrMissing) && op.Op != "add" {
		return fmt.Sprintf("can't %s a non-existent object '%s'", op.Op, Clip(op.Path[strings.LastIndex(op.Path, "/")+1:]))
	}
	return Clip(err.Error())
}

// Roots are the first path segments of a PATCH, each once.
func Roots(ops []PatchOp) []string {
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
	return fault.New(fault.Invalid, "Cannot patch %s. Only the following can be updated: %s", Clip(path), strings.Join(allowed, ", "))
}
