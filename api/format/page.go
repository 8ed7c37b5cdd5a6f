package format

import (
	"strconv"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Page are the paging parameters of a list.
type Page struct {
	Limit   int
	Marker  string
	SortKey string
	Desc    bool
}

// PageParameters are the paging parameters of Ironic's lists.
var PageParameters = []string{"limit", "marker", "sort_key", "sort_dir"}

// Page reads the paging parameters. sortable returns an error for a key that the
// list can't be sorted by; maxLimit bounds the page, and is its default length.
func (q *Query) Page(maxLimit int, sortable func(key string) error) Page {
	p := Page{Limit: maxLimit, SortKey: "id", Marker: q.Word("marker")}
	if l := q.integer("limit"); l != nil {
		if *l <= 0 {
			q.Fail("Limit must be positive")
		}
		p.Limit = min(*l, maxLimit)
	}
	if q.Has("sort_key") {
		p.SortKey = q.Word("sort_key")
		if q.Err == nil && p.SortKey != "id" {
			q.Err = sortable(p.SortKey)
		}
	}
	switch dir := q.Word("sort_dir"); dir {
	case "", "asc":
	case "desc":
		p.Desc = true
	default:
		q.Fail("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", Clip(dir))
	}
	return p
}

// PageByUUID is page for a list whose marker is a UUID.
func (q *Query) PageByUUID(maxLimit int, sortable func(key string) error) Page {
	p := q.Page(maxLimit, sortable)
	p.Marker = q.UUID("marker")
	return p
}

// PageByID is page for a list whose marker is a positive number; what names it in
// the error. It also returns the number, 0 for the first page.
func (q *Query) PageByID(maxLimit int, what string) (p Page, marker int64) {
	p = q.Page(maxLimit, Unsortable)
	if !q.Has("marker") {
		return p, 0
	}
	marker, err := strconv.ParseInt(p.Marker, 10, 64)
	if err != nil || marker <= 0 {
		q.Fail("Expected %s for marker: %s", what, Clip(p.Marker))
	}
	return p, marker
}

// Unsortable refuses every sort key.
func Unsortable(key string) error {
	return fault.New(fault.Invalid, "The sort_key value %s is an invalid field for sorting", Clip(key))
}

// Of is the page as stores take it, of what somebody may see; nil = everything.
func (p Page) Of(only *node.View) node.Page {
	out := node.Page{Limit: p.Limit, Marker: p.Marker, SortKey: p.SortKey, SortDir: "asc", Only: only}
	if p.Desc {
		out.SortDir = "desc"
	}
	return out
}

// Collection is a list as an answer shows it.
type Collection[T any] struct {
	Name   string // of the field that has the items
	Path   string // of the list
	Marker func(*T) string
	Show   func(*T) any
}

// Body is the answer with one page of the list. A page that is full has the address of the next one.
func (l Collection[T]) Body(q *Query, p Page, items []T) gin.H {
	shown, last := make([]any, 0, len(items)), ""
	for i := range items {
		shown = append(shown, l.Show(&items[i]))
	}
	if len(items) == p.Limit && len(items) > 0 {
		last = l.Marker(&items[len(items)-1])
	}
	body := gin.H{l.Name: shown}
	if next, has := l.next(q, p, last); has {
		body["next"] = next
	}
	return body
}
