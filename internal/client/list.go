package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"go.temper.dev/temper/internal/jsonvalue"
)

// List is the first part of a collection, in its order.
type List[T any] struct {
	Items []T
	More  bool // the collection has more items
}

// Limits of lists.
const (
	DefaultLimit = 1000
	MaxLimit     = 100_000
	pageLimit    = 1000 // the API's limit of a page
)

// pages reads a collection page by page, at most limit items (0 = DefaultLimit). key is the field of the body with the items.
func pages[T any](ctx context.Context, c *Client, path string, q url.Values, key string, limit int) (List[T], error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	query := url.Values{}
	for name, values := range q {
		query[name] = values
	}
	var out List[T]
	for {
		query.Set("limit", strconv.Itoa(min(limit+1-len(out.Items), pageLimit))) // one item more, to know whether there are more
		var body map[string]json.RawMessage
		if _, err := c.do(ctx, request{method: http.MethodGet, path: path, query: query}, &body); err != nil {
			return out, err
		}
		items, next, err := page[T](body, key)
		if err != nil {
			return out, &Error{
				Stage: Unreadable, Method: http.MethodGet, Path: path, URL: c.base, err: err,
				Words: "what answers there is not Temper's API: its answer has no list of " + key,
			}
		}
		out.Items = append(out.Items, items...)
		if len(out.Items) > limit {
			out.Items, out.More = out.Items[:limit], true
			return out, nil
		}
		marker := markerOf(next)
		if len(items) == 0 || marker == "" || marker == query.Get("marker") {
			return out, nil
		}
		query.Set("marker", marker)
	}
}

// page returns the items of one page and the link to the next.
func page[T any](body map[string]json.RawMessage, key string) (items []T, next string, err error) {
	if err := jsonvalue.Unmarshal(body[key], &items); err != nil {
		return nil, "", err
	}
	if raw, ok := body["next"]; ok {
		var at *string
		if err := jsonvalue.Unmarshal(raw, &at); err != nil {
			return nil, "", err
		}
		if at != nil {
			next = *at
		}
	}
	return items, next, nil
}

// markerOf returns the marker in the link to the next page. Nothing else of the link is used: the host may be one that this
// client can't reach, or that must not get its password.
func markerOf(next string) string {
	u, err := url.Parse(next)
	if err != nil {
		return ""
	}
	return u.Query().Get("marker")
}
