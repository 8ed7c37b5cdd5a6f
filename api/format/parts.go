package format

import (
	"iter"
	"net/url"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/jsonvalue"
)

// PartSize is how long a part becomes before it is handed over.
const PartSize = 64 << 10

// Parts is the body of an answer that is made while it is sent, so that a long list is never in memory as a whole. It appends JSON to b, and
// gives b to send when it is long enough, which returns a buffer for the rest. If it returns an error, what it has sent is no whole answer.
type Parts func(b []byte, send func(b []byte) ([]byte, error)) error

// Parts is Body as it is made from items that arrive one by one. Each is shown before the next is asked for.
func (l Collection[T]) Parts(q *Query, p Page, items iter.Seq2[*T, error]) Parts {
	return func(b []byte, send func([]byte) ([]byte, error)) error {
		b = append(jsonvalue.AppendString(append(b, '{'), l.Name), ":["...)
		count, last := 0, ""
		for item, err := range items {
			if err != nil {
				return err
			}
			if count > 0 {
				b = append(b, ',')
			}
			if b, err = jsonvalue.Append(b, l.Show(item)); err != nil {
				return err
			}
			if count++; count == p.Limit {
				last = l.Marker(item)
			}
			if len(b) < PartSize {
				continue
			}
			if b, err = send(b); err != nil {
				return err
			}
		}
		b = append(b, ']')
		if next, shown := l.next(q, p, last); shown {
			var err error
			if b, err = jsonvalue.Append(append(b, `,"next":`...), next); err != nil {
				return err
			}
		}
		_, err := send(append(b, '}'))
		return err
	}
}

// next is the address of the next page, which repeats every filter: a client that follows it verbatim stays in its own list. (Ironic's
// leaves the filters out.) last is the marker of a full page, "" for one that is not full. Without a next page Ironic's answers have no
// "next", ours have null.
func (l Collection[T]) next(q *Query, p Page, last string) (address any, shown bool) {
	if last == "" {
		return nil, strings.HasPrefix(l.Path, "/temper/")
	}
	v := url.Values{}
	for name, vals := range q.values {
		v[name] = vals
	}
	v.Set("marker", last)
	v.Set("limit", strconv.Itoa(p.Limit))
	return q.base + l.Path + "?" + v.Encode(), true
}
