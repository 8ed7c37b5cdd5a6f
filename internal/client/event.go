package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.temper.dev/temper/internal/jsonvalue"
)

// EventFilter says which events to follow. An empty field is for all.
type EventFilter struct {
	Node                             string
	Kinds, Operations, Causes, Types []string
}

func (f EventFilter) query() url.Values {
	q := url.Values{}
	for name, values := range map[string][]string{"node": {f.Node}, "kind": f.Kinds, "operation": f.Operations, "cause": f.Causes, "type": f.Types} {
		if v := strings.Join(values, ","); v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// StreamEvent is something that happened.
type StreamEvent struct {
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Type      string    `json:"type"`
	NodeUUID  string    `json:"node_uuid"`
	NodeName  string    `json:"node_name"`
	Operation string    `json:"operation"`
	Kind      string    `json:"kind"`
	Cause     string    `json:"cause"`

	Raw []byte `json:"-"` // the JSON object as it came, with all fields
}

// Missed says that events were not kept long enough for this client: those after the number After and before Oldest.
type Missed struct {
	After  int64 `json:"after"`
	Oldest int64 `json:"oldest"`
	Seq    int64 `json:"seq"` // the stream goes on with what is after it
}

// EventHandler gets what comes of a stream. An error of it ends the stream.
type EventHandler interface {
	Event(StreamEvent) error
	Missed(Missed) error
}

// Position is where a stream is. Known is false until it has begun for the first time, if it begins with what happens from then on.
type Position struct {
	Seq   int64
	Known bool
}

// eventSilence is how long a stream may be silent; the API sends a comment every 15 s.
const eventSilence = 50 * time.Second

// Events follows events from the position, which it keeps up to date, until the stream ends, which is always an error: an *Error
// whose Lasting is false may be tried again from there.
func (c *Client) Events(ctx context.Context, f EventFilter, at *Position, h EventHandler) error {
	r := request{method: http.MethodGet, path: "/temper/v1/events", query: f.query()}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(eventSilence, cancel)
	defer silent.Stop()
	res, err := c.openEvents(ctx, r, at)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	err = readEvents(silenceReader{res.Body, silent}, at, h)
	var own handlerError
	if errors.As(err, &own) {
		return own.error
	}
	return &Error{Stage: Lost, Method: r.method, Path: r.path, URL: c.base, err: err}
}

func (c *Client) openEvents(ctx context.Context, r request, at *Position) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path+"?"+r.query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set(headerVersion, Version)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "temper")
	if at.Known {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(at.Seq, 10))
	}
	c.authorize(req)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, &Error{Stage: Unreached, Method: r.method, Path: r.path, URL: c.base, err: err}
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, c.readError(r, res)
	}
	return res, nil
}

// Lasting reports whether the same request would fail in the same way a little later.
func Lasting(err error) bool {
	var e *Error
	return !errors.As(err, &e) || !e.temporary()
}

// handlerError is an error of an EventHandler.
type handlerError struct{ error }

// silenceReader puts the end of the stream off whenever something comes.
type silenceReader struct {
	io.Reader
	silent *time.Timer
}

func (s silenceReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		s.silent.Reset(eventSilence)
	}
	return n, err
}

// readEvents reads text/event-stream (WHATWG HTML) until its end, which is an error.
func readEvents(r io.Reader, at *Position, h EventHandler) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	var id, kind string
	var data []byte
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if err := handle(h, kind, data); err != nil {
				return handlerError{err}
			}
			if seq, err := strconv.ParseInt(id, 10, 64); err == nil {
				*at = Position{seq, true} // after the handler, so that no event is lost with it
			}
			id, kind, data = "", "", nil
		case name == "id":
			id = value
		case name == "event":
			kind = value
		case name == "data":
			data = append(data, value...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}

func handle(h EventHandler, kind string, data []byte) error {
	switch {
	case len(data) == 0:
		return nil
	case kind == "reset":
		var m Missed
		if err := jsonvalue.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("read a reset: %w", err)
		}
		return h.Missed(m)
	}
	e := StreamEvent{Raw: data}
	if err := jsonvalue.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	return h.Event(e)
}
