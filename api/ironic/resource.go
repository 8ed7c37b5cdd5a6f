package ironic

import (
	"context"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// resource is what sets those of Ironic's resources apart that are records of the database (node.Record).
type resource[T any] struct {
	noun     string   // in errors: "portgroup"
	path     string   // below /v1
	items    string   // the field of a list's answer that has the records
	param    string   // of routes: the uuid or name
	names    int      // the first version in which its name may stand for the uuid; 0 = it has no name
	defaults []string // what lists show where nobody asks for more
	required []string // what a POST must have
	detail   int      // the first version with ?detail

	attributes format.Attributes[T, T]
	fresh      func() *T // one with the values that are set where a POST has none
	record     func(*T) *node.Record
	redact     func(*gin.Context, *T) // takes out what the client may not read; nil = nothing
	below      []collectionLink       // what it links to where all fields are shown
}

// collectionLink is a collection below a resource, and the first version that has it.
type collectionLink struct {
	name  string
	since int
}

type attributesOf[T any] []*format.Attribute[T, T]

// body shows t. whole says that nobody has chosen the fields.
func (r *resource[T]) body(c *gin.Context, t *T, attrs attributesOf[T], whole bool) map[string]any {
	if r.redact != nil {
		copied := *t
		r.redact(c, &copied)
		t = &copied
	}
	out := format.Show(t, attrs)
	self := r.path + "/" + r.record(t).UUID
	out["links"] = format.Links(format.PublicURL(c), self)
	for _, sub := range r.below {
		if whole && format.Minor(c) >= sub.since {
			out[sub.name] = format.Links(format.PublicURL(c), self+"/"+sub.name)
		}
	}
	return out
}

// whole shows all fields of t that the version has.
func (r *resource[T]) whole(c *gin.Context, t *T) map[string]any {
	return r.body(c, t, r.attributes.UpTo(format.Minor(c)), true)
}

// listing is a request for a list, read.
type listing[T any] struct {
	*format.Query
	page  format.Page
	attrs attributesOf[T]
	whole bool
}

// read reads what all lists take; filters are the names of what this one takes besides. detailed says that the path asks for all
// fields.
func (r *resource[T]) read(c *gin.Context, maxLimit int, detailed bool, filters ...string) (*listing[T], error) {
	parameters := slices.Concat(format.PageParameters, filters)
	if !detailed {
		parameters = append(parameters, "fields", "detail")
	}
	l := &listing[T]{Query: format.ReadQuery(c, parameters...), whole: detailed}
	l.RequireVersion(8, "fields")
	names := l.List("fields")
	if detail := l.Boolean("detail"); detail != nil {
		switch {
		case l.Minor < r.detail:
			l.Fail("Invalid query parameter ?detail=%v received.", *detail)
		case *detail && names != nil:
			l.Fail("Can not specify ?detail=True and fields in the same request.")
		}
		l.whole = l.whole || *detail
	}
	if names == nil && !l.whole {
		names = r.defaults
	}
	l.page = l.PageByUUID(maxLimit, r.attributes.Sortable(l.Minor))
	if l.Err != nil {
		return nil, l.Err
	}
	var err error
	l.attrs, err = r.attributes.Fields(names, l.Minor)
	return l, err
}

// list is the answer with a page of the list at path below /v1.
func (r *resource[T]) list(c *gin.Context, path string, l *listing[T], all []T) (int, any, error) {
	return http.StatusOK, format.Collection[T]{
		Name: r.items, Path: "/v1/" + path, Marker: func(t *T) string { return r.record(t).UUID },
		Show: func(t *T) any { return r.body(c, t, l.attrs, l.whole) },
	}.Body(l.Query, l.page, all), nil
}

// find reads the record of the request's path.
func (r *resource[T]) find(c *gin.Context, read func(context.Context, string) (*T, error)) (*T, error) {
	return r.named(c, c.Param(r.param), read)
}

// named reads the record of that uuid or name. If ".json" was taken from the path and no record has the rest as its name, ".json"
// belongs to the name.
func (r *resource[T]) named(c *gin.Context, ident string, read func(context.Context, string) (*T, error)) (*T, error) {
	switch {
	case node.IsUUID(ident):
		return read(c.Request.Context(), node.CanonicalUUID(ident))
	case r.names == 0 || format.Minor(c) < r.names:
		return nil, fault.New(fault.Invalid, "Expected a UUID but received %s.", format.Clip(ident))
	case !node.ValidName(ident, format.Minor(c)):
		return nil, fault.New(fault.Invalid, "Expected a logical name or UUID but received %s.", format.Clip(ident))
	}
	t, err := read(c.Request.Context(), ident)
	if fault.Is(err, fault.NotFound) && format.HadJSONSuffix(c.Request.Context()) {
		return read(c.Request.Context(), ident+".json")
	}
	return t, err
}

// show answers a GET of one record.
func (r *resource[T]) show(c *gin.Context, read func(context.Context, string) (*T, error)) (int, any, error) {
	q := format.ReadQuery(c, "fields")
	q.RequireVersion(8, "fields")
	if q.Err != nil {
		return 0, nil, q.Err
	}
	names := q.List("fields")
	attrs, err := r.attributes.Fields(names, q.Minor)
	if err != nil {
		return 0, nil, err
	}
	t, err := r.find(c, read)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, r.body(c, t, attrs, names == nil), nil
}

// posted reads the record that a POST describes. A field that is null counts as not given.
func (r *resource[T]) posted(c *gin.Context) (*T, error) {
	in, err := format.ReadObject(c, format.MaxBody, r.attributes.Creatable()...)
	if err != nil {
		return nil, err
	}
	for _, name := range r.required {
		if !in.Has(name) {
			in.Fail("Schema error for %s: '%s' is a required property", r.noun, name)
		}
	}
	if in.Err != nil {
		return nil, in.Err
	}
	t := r.fresh()
	for _, a := range r.attributes {
		v := in.Fields[a.Name]
		switch {
		case v == nil:
			continue
		case a.Since > format.Minor(c):
			return nil, format.TooNew(a.Since)
		}
		if err := a.Set(t, v); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// created answers a POST that has made t.
func (r *resource[T]) created(c *gin.Context, t *T) (int, any, error) {
	format.Located(c, r.path+"/"+r.record(t).UUID)
	return http.StatusCreated, r.whole(c, t), nil
}

// patch is a PATCH of a record, and the record as it was and would be.
type patch[T any] struct {
	ops           []format.PatchOp
	before, after *T
}

// patched reads a PATCH, and the record that it is for.
func (r *resource[T]) patched(c *gin.Context, read func(context.Context, string) (*T, error)) (*patch[T], error) {
	p := &patch[T]{}
	var err error
	if p.ops, err = format.ReadPatch(c); err != nil {
		return nil, err
	}
	if err := r.attributes.Patchable(p.ops, format.Minor(c)); err != nil {
		return nil, err
	}
	if p.before, err = r.find(c, read); err != nil {
		return nil, err
	}
	after := *p.before
	p.after = &after
	return p, r.attributes.Apply(p.ops, p.before, p.after)
}

// apply returns an edit that makes the changes of p in the record as it is then, unless allowed, which may be nil, returns an error.
func (r *resource[T]) apply(p *patch[T], allowed func(before, after *T) error) func(*T) error {
	return func(t *T) error {
		before := *t
		if err := r.attributes.Apply(p.ops, &before, t); err != nil {
			return err
		}
		if allowed == nil {
			return nil
		}
		return allowed(&before, t)
	}
}

// ownerField sets the field node_uuid, which can't be null.
func ownerField[T any](set format.Setters[T], at func(*T) *string) func(*T, any) error {
	uuid := set.UUID("node_uuid", at)
	return func(t *T, v any) error {
		if v == nil {
			return set.WrongType("node_uuid", "'string'", v)
		}
		return uuid(t, v)
	}
}

// recordFields are the fields that all records have.
func recordFields[T any](since int, set format.Setters[T], record func(*T) *node.Record) format.Attributes[T, T] {
	return format.Attributes[T, T]{
		{Name: "uuid", Since: since, Value: func(t *T) any { return record(t).UUID }, Set: set.UUID("uuid", func(t *T) *string { return &record(t).UUID }), Create: true},
		{Name: "created_at", Since: since, Value: func(t *T) any { return format.Timestamp(&record(t).CreatedAt) }},
		{Name: "updated_at", Since: since, Value: func(t *T) any { return format.Timestamp(record(t).UpdatedAt) }},
	}
}

// nodeNotFoundIsInvalid is format.NotFoundIsInvalid for the error of a write that names a node beside the record of the path.
func nodeNotFoundIsInvalid(err error) error {
	if fault.CodeOf(err) == fault.NodeNotFound {
		return format.NotFoundIsInvalid(err)
	}
	return err
}
