package format

import (
	"slices"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// Attribute is one field of a resource that is shown as V and written as T: the
// version that has it, what it shows, and how POST and PATCH write it. The table
// of a resource is the only place that knows; hiding, refusing, selecting and
// sorting read it.
type Attribute[V, T any] struct {
	Name   string
	Since  int
	Value  func(*V) any
	Set    func(*T, any) error // of a JSON value (nil = null, or removed); nil = clients can't write it
	Create bool                // POST may give it
	Patch  bool                // PATCH may touch it
	Nosort bool                // lists can't be sorted by it
}

// Attributes is the table of a resource.
type Attributes[V, T any] []Attribute[V, T]

// Named is the attribute of that name; nil where there is none.
func (all Attributes[V, T]) Named(name string) *Attribute[V, T] {
	i := slices.IndexFunc(all, func(a Attribute[V, T]) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Fields checks ?fields= and gives the attributes to show; nil names = all that
// the version has.
func (all Attributes[V, T]) Fields(names []string, minor int) ([]*Attribute[V, T], error) {
	if names == nil {
		return all.UpTo(minor), nil
	}
	var out []*Attribute[V, T]
	var invalid []string
	for _, name := range names {
		switch a := all.Named(name); {
		case a == nil:
			invalid = append(invalid, name)
		case a.Since > minor:
			return nil, TooNew(a.Since)
		default:
			out = append(out, a)
		}
	}
	if len(invalid) > 0 {
		return nil, fault.New(fault.Invalid, "Field(s) \"%s\" are not valid", Clip(strings.Join(invalid, ", ")))
	}
	return out, nil
}

// Creatable are the names of the fields that POST takes.
func (all Attributes[V, T]) Creatable() []string {
	var out []string
	for _, a := range all {
		if a.Create {
			out = append(out, a.Name)
		}
	}
	return out
}

// UpTo is all that the version has.
func (all Attributes[V, T]) UpTo(minor int) []*Attribute[V, T] {
	var out []*Attribute[V, T]
	for i := range all {
		if all[i].Since <= minor {
			out = append(out, &all[i])
		}
	}
	return out
}

// Patchable refuses changes of root fields that are not for clients, or too new.
func (all Attributes[V, T]) Patchable(ops []PatchOp, minor int) error {
	for _, op := range ops {
		switch a := all.Named(op.root); {
		case a == nil, !a.Patch:
			var allowed []string
			for _, a := range all {
				if a.Patch {
					allowed = append(allowed, a.Name)
				}
			}
			slices.Sort(allowed)
			return cannotPatch(op.Path, allowed)
		case a.Since > minor:
			return TooNew(a.Since)
		}
	}
	return nil
}

// Sortable refuses sort keys that are unknown, too new or not sortable.
func (all Attributes[V, T]) Sortable(minor int) func(string) error {
	return func(key string) error {
		switch a := all.Named(key); {
		case a == nil, a.Nosort:
			return Unsortable(key)
		case a.Since > minor:
			return TooNew(a.Since)
		}
		return nil
	}
}

// Apply writes the fields that ops change into t. v shows t as it was before.
func (all Attributes[V, T]) Apply(ops []PatchOp, v *V, t *T) error {
	fields := Roots(ops)
	doc := make(map[string]any, len(fields))
	for _, f := range fields {
		doc[f] = all.Named(f).Value(v)
	}
	doc, err := patched(doc, ops)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if err := all.Named(f).Set(t, doc[f]); err != nil {
			return err
		}
	}
	return nil
}

// Show is v by its attributes.
func Show[V, T any](v *V, attrs []*Attribute[V, T]) map[string]any {
	out := make(map[string]any, len(attrs)+5) // and the links
	for _, a := range attrs {
		out[a.Name] = a.Value(v)
	}
	return out
}
