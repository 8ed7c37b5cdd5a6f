package api

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// page are the paging parameters of a list.
type page struct {
	limit   int
	marker  string
	sortKey string
	desc    bool
}

var pageParameters = []string{"limit", "marker", "sort_key", "sort_dir"}

// page reads the paging parameters. sortable returns an error for a key that the
// list can't be sorted by; maxLimit bounds the page, and is its default length.
func (q *query) page(maxLimit int, sortable func(key string) error) page {
	p := page{limit: maxLimit, sortKey: "id", marker: q.word("marker")}
	if l := q.integer("limit"); l != nil {
		if *l <= 0 {
			q.fail("Limit must be positive")
		}
		p.limit = min(*l, maxLimit)
	}
	if q.has("sort_key") {
		p.sortKey = q.word("sort_key")
		if q.err == nil && p.sortKey != "id" {
			q.err = sortable(p.sortKey)
		}
	}
	switch dir := q.word("sort_dir"); dir {
	case "", "asc":
	case "desc":
		p.desc = true
	default:
		q.fail("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", clip(dir))
	}
	return p
}

// pageByUUID is page for a list whose marker is a UUID.
func (q *query) pageByUUID(maxLimit int, sortable func(key string) error) page {
	p := q.page(maxLimit, sortable)
	p.marker = q.uuid("marker")
	return p
}

// pageByID is page for a list whose marker is a positive number; what names it in
// the error. It also returns the number, 0 for the first page.
func (q *query) pageByID(maxLimit int, what string) (p page, marker int64) {
	p = q.page(maxLimit, unsortable)
	if !q.has("marker") {
		return p, 0
	}
	marker, err := strconv.ParseInt(p.marker, 10, 64)
	if err != nil || marker <= 0 {
		q.fail("Expected %s for marker: %s", what, clip(p.marker))
	}
	return p, marker
}

// unsortable refuses every sort key.
func unsortable(key string) error {
	return fault.New(fault.Invalid, "The sort_key value %s is an invalid field for sorting", clip(key))
}

// store is the page as stores take it.
func (p page) store() node.Page {
	out := node.Page{Limit: p.limit, Marker: p.marker, SortKey: p.sortKey, SortDir: "asc"}
	if p.desc {
		out.SortDir = "desc"
	}
	return out
}

// collection is a list as an answer shows it.
type collection[T any] struct {
	name   string // of the field that has the items
	path   string // of the list
	marker func(*T) string
	show   func(*T) any
}

// body is the answer with one page of the list. A page that is full has the address
// of the next one, which repeats every filter: a client that follows it verbatim
// stays in its own list. (Ironic's leaves the filters out.) Without a next page
// Ironic's answers have no "next", ours have null.
func (l collection[T]) body(q *query, p page, items []T) gin.H {
	shown := make([]any, 0, len(items))
	for i := range items {
		shown = append(shown, l.show(&items[i]))
	}
	body := gin.H{l.name: shown}
	switch {
	case len(items) == p.limit && len(items) > 0:
		v := url.Values{}
		for name, vals := range q.values {
			v[name] = vals
		}
		v.Set("marker", l.marker(&items[len(items)-1]))
		v.Set("limit", strconv.Itoa(p.limit))
		body["next"] = q.base + l.path + "?" + v.Encode()
	case strings.HasPrefix(l.path, "/temper/"):
		body["next"] = nil
	}
	return body
}
