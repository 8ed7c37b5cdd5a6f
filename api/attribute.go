package api

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// attribute is one field of a resource that is shown as V and written as T: the
// version that has it, what it shows, and how POST and PATCH write it. The table
// of a resource is the only place that knows; hiding, refusing, selecting and
// sorting read it.
type attribute[V, T any] struct {
	name   string
	since  int
	value  func(*V) any
	set    func(*T, any) error // of a JSON value (nil = null, or removed); nil = clients can't write it
	create bool                // POST may give it
	patch  bool                // PATCH may touch it
	nosort bool                // lists can't be sorted by it
}

type attributes[V, T any] []attribute[V, T]

// named is the attribute of that name; nil where there is none.
func (all attributes[V, T]) named(name string) *attribute[V, T] {
	i := slices.IndexFunc(all, func(a attribute[V, T]) bool { return a.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// fields checks ?fields= and gives the attributes to show; nil names = all that
// the version has.
func (all attributes[V, T]) fields(names []string, minor int) ([]*attribute[V, T], error) {
	if names == nil {
		return all.upTo(minor), nil
	}
	var out []*attribute[V, T]
	var invalid []string
	for _, name := range names {
		switch a := all.named(name); {
		case a == nil:
			invalid = append(invalid, name)
		case a.since > minor:
			return nil, tooNew(a.since)
		default:
			out = append(out, a)
		}
	}
	if len(invalid) > 0 {
		return nil, fault.New(fault.Invalid, "Field(s) \"%s\" are not valid", clip(strings.Join(invalid, ", ")))
	}
	return out, nil
}

// creatable are the names of the fields that POST takes.
func (all attributes[V, T]) creatable() []string {
	var out []string
	for _, a := range all {
		if a.create {
			out = append(out, a.name)
		}
	}
	return out
}

// upTo is all that the version has.
func (all attributes[V, T]) upTo(minor int) []*attribute[V, T] {
	var out []*attribute[V, T]
	for i := range all {
		if all[i].since <= minor {
			out = append(out, &all[i])
		}
	}
	return out
}

// patchable refuses changes of root fields that are not for clients, or too new.
func (all attributes[V, T]) patchable(ops []patchOp, minor int) error {
	for _, op := range ops {
		switch a := all.named(op.root); {
		case a == nil, !a.patch:
			var allowed []string
			for _, a := range all {
				if a.patch {
					allowed = append(allowed, a.name)
				}
			}
			slices.Sort(allowed)
			return cannotPatch(op.path, allowed)
		case a.since > minor:
			return tooNew(a.since)
		}
	}
	return nil
}

// sortable refuses sort keys that are unknown, too new or not sortable.
func (all attributes[V, T]) sortable(minor int) func(string) error {
	return func(key string) error {
		switch a := all.named(key); {
		case a == nil, a.nosort:
			return unsortable(key)
		case a.since > minor:
			return tooNew(a.since)
		}
		return nil
	}
}

// apply writes the fields that ops change into t. v shows t as it was before.
func (all attributes[V, T]) apply(ops []patchOp, v *V, t *T) error {
	fields := roots(ops)
	doc := make(map[string]any, len(fields))
	for _, f := range fields {
		doc[f] = all.named(f).value(v)
	}
	doc, err := patched(doc, ops)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if err := all.named(f).set(t, doc[f]); err != nil {
			return err
		}
	}
	return nil
}

// shown is v by its attributes.
func shown[V, T any](v *V, attrs []*attribute[V, T]) map[string]any {
	out := make(map[string]any, len(attrs)+5) // and the links
	for _, a := range attrs {
		out[a.name] = a.value(v)
	}
	return out
}
