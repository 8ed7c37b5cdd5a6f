package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync/atomic"
	"time"

	"github.com/stmcginnis/gofish/schemas"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
)

// Limits on what a BMC can cost, however it answers. Real BMCs stay far below them: a
// system has some 20 KiB, and inspecting a large one takes some 150 requests.
const (
	maxBody     = 1 << 20          // bytes of an answer that is read as a resource
	maxRefusal  = 256 << 10        // bytes of any other answer
	smallBody   = 64 << 10         // an answer with more bytes counts as large
	maxLarge    = 16               // large answers of all BMCs that are read at once
	maxHeader   = 64 << 10         // bytes of an answer's header
	maxToken    = 8 << 10          // bytes of a session's token
	maxETag     = 512              // bytes
	maxPath     = 1024             // bytes of a path in an answer
	maxText     = 8 << 10          // bytes of a string property; the rest is dropped
	maxStored   = 255              // runes of a string that is stored
	maxShort    = 128              // runes of a string that is stored of each of many parts
	maxElements = 256              // elements of a list within a resource
	maxMembers  = 64               // members of a collection
	maxParts    = 128              // members of a collection of small parts
	maxSettings = 2048             // BIOS settings
	maxTasks    = 4096             // tasks of a BMC
	maxPages    = 32               // pages of a collection
	maxRequests = 600              // requests of one call
	maxBytes    = 32 << 20         // bytes of all answers to one call
	callTime    = 2 * time.Minute  // duration of one call
	inspectTime = 10 * time.Minute // duration of an inspection, which is many requests
	maxPause    = 10 * time.Minute // a longer Retry-After means that a clock is wrong
)

// budget is how many requests and bytes one call has left.
type budget struct{ requests, bytes atomic.Int64 }

type budgetKey struct{}

// withBudget returns a context with the budget and the deadline of one call.
func withBudget(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	b := &budget{}
	b.requests.Store(maxRequests)
	b.bytes.Store(maxBytes)
	return context.WithTimeout(context.WithValue(ctx, budgetKey{}, b), limit)
}

// spendBudget takes requests and bytes from the call's budget, and fails when it is
// used up. A logout has no budget: it is one request.
func spendBudget(ctx context.Context, requests, bytes int) error {
	b, ok := ctx.Value(budgetKey{}).(*budget)
	switch {
	case !ok:
		return nil
	case b.requests.Add(int64(-requests)) < 0:
		return fault.New(fault.Refused, "the BMC links to too many resources: gave up after %d requests for one call", maxRequests)
	case b.bytes.Add(int64(-bytes)) < 0:
		return fault.New(fault.Refused, "the BMC's answers are too large: gave up after %d MiB for one call", maxBytes>>20)
	}
	return nil
}

// readBody reads an answer, but at most one byte more than limit. Only maxLarge
// large answers are read at once, so that many BMCs together don't use too much memory.
func (e *endpoint) readBody(ctx context.Context, from io.Reader, limit int64) ([]byte, error) {
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(from, min(limit+1, smallBody)))
	if err != nil || n < smallBody {
		return body.Bytes(), err
	}
	select {
	case e.large <- struct{}{}:
		defer func() { <-e.large }()
	case <-ctx.Done():
		return body.Bytes(), errTooManyLarge
	}
	_, err = body.ReadFrom(io.LimitReader(from, limit+1-n))
	return body.Bytes(), err
}

// errTooManyLarge means that an answer could not be read in time, because too many large
// answers were being read.
var errTooManyLarge = bmc.Busy(time.Second, "this conductor is already reading %d large answers of BMCs, and none ended in time", maxLarge)

// looseList is a list of which at most maxElements are read. A value that is no list
// reads as an empty list, and an element of another type than T as T's zero value.
type looseList[T any] []T

// UnmarshalJSON never fails.
func (l *looseList[T]) UnmarshalJSON(b []byte) error {
	*l = listUpTo[T](b, maxElements)
	return nil
}

// listUpTo returns at most the first most elements of a list in JSON, nil of anything else.
func listUpTo[T any](b []byte, most int) (all []T) {
	d := jsonvalue.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	for len(all) < most && d.More() {
		var v loose[T]
		if d.Decode(&v) != nil {
			break
		}
		all = append(all, v.v)
	}
	return all
}

// link is the path of a link to another resource, "" if there is none.
type link string

// UnmarshalJSON never fails.
func (l *link) UnmarshalJSON(b []byte) error {
	var path schemas.Link
	if *l = ""; jsonvalue.Unmarshal(b, &path) == nil && len(path) <= maxPath {
		*l = link(path)
	}
	return nil
}

// links are the paths of a list of links, without empty ones.
type links []string

// UnmarshalJSON never fails.
func (l *links) UnmarshalJSON(b []byte) error {
	*l = linksUpTo(b, maxElements)
	return nil
}

// manyLinks are the links of which at most maxTasks are read.
type manyLinks []string

// UnmarshalJSON never fails.
func (l *manyLinks) UnmarshalJSON(b []byte) error {
	*l = manyLinks(linksUpTo(b, maxTasks))
	return nil
}

func linksUpTo(b []byte, most int) (paths links) {
	for _, path := range listUpTo[link](b, most) {
		if path != "" {
			paths = append(paths, string(path))
		}
	}
	return paths
}

// linkOrLinks is a property that some BMCs have as a list of links, and others as a link to a collection.
type linkOrLinks struct {
	collection link
	members    links
}

// UnmarshalJSON never fails.
func (l *linkOrLinks) UnmarshalJSON(b []byte) error {
	*l = linkOrLinks{}
	_ = l.members.UnmarshalJSON(b)
	if len(l.members) == 0 {
		_ = l.collection.UnmarshalJSON(b)
	}
	return nil
}
