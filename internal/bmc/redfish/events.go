package redfish

import (
	"bufio"
	"context"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"go.temper.dev/temper/internal/fault"
)

// maxStream is how many bytes of one stream of events are read. Nothing of it is kept.
const maxStream = 16 << 20

// FollowEvents calls happened when it begins to follow the BMC's events, and at each event. It reads the stream of server-sent
// events (DSP0266, 13.5) if the BMC has one, else it subscribes to the events if somebody takes them (Config.Subscriptions). It
// returns when ctx ends, or with an error: fault.Refused if the BMC offers neither. One conversation at a time follows the
// events of a BMC, because a BMC has few streams and subscriptions; a stream takes none of the BMC's slots.
func (s *session) FollowEvents(ctx context.Context, happened func()) error {
	return s.wrap("follow the events", s.followEvents(ctx, happened))
}

func (s *session) followEvents(ctx context.Context, happened func()) error {
	e := s.endpoint
	if e.conf.IgnoreEvents {
		return errNoEvents
	}
	service, err := s.eventService(ctx)
	if err != nil {
		return err
	}
	stream, subscriptions := string(service.ServerSentEventURI), string(service.Subscriptions)
	if e.conf.Subscriptions == nil {
		subscriptions = ""
	}
	if stream == "" && subscriptions == "" || !e.shared.Following.TryLock() {
		return errNoEvents
	}
	defer e.shared.Following.Unlock()
	if stream == "" {
		return s.subscribe(ctx, subscriptions, happened)
	}
	l, err := e.ensureLogin(ctx, 0)
	if err != nil {
		return err
	}
	return e.stream(ctx, stream, l, happened)
}

// errNoEvents means that there are no events to follow.
var errNoEvents = fault.New(fault.Refused, "the BMC offers no events")

// errNotBegun means that the BMC names a stream of events and does not begin to answer there.
var errNotBegun = fault.New(fault.Unreachable, "the stream of events did not begin in time")

type eventService struct {
	ServiceEnabled     loose[*bool]
	ServerSentEventURI looseString `json:"ServerSentEventUri"`
	Subscriptions      link
	EventTypes         looseList[looseString] `json:"EventTypesForSubscription"`
}

// eventService returns what the BMC offers. The first call for an endpoint asks the BMC.
func (s *session) eventService(ctx context.Context) (eventService, error) {
	e := s.endpoint
	e.mu.Lock()
	known := e.events
	e.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	ctx, done := withBudget(ctx, callTime)
	defer done()
	root, err := e.serviceRoot(ctx)
	if err != nil {
		return eventService{}, err
	}
	var service eventService
	if err := s.readOptional(ctx, root.EventService, &service); err != nil {
		return eventService{}, err
	}
	if on := service.ServiceEnabled.v; on != nil && !*on {
		service = eventService{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = &service
	return service, nil
}

// stream reads the stream of events at path until it ends. Whatever goes wrong, the caller reads the BMC as often as without
// events, so that an answer says nothing about the login or the patience that the BMC needs.
func (e *endpoint) stream(ctx context.Context, path string, l login, happened func()) error {
	target, err := e.resolve(path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slow := time.AfterFunc(e.within(), func() { cancel(errNotBegun) })
	defer slow.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fault.New(fault.Internal, "GET %s: %w", path, err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("OData-Version", "4.0")
	req.Header.Set("User-Agent", "temper")
	l.authenticate(req, e.info)
	client := *e.client
	client.Timeout = 0 // a stream has no end
	resp, err := client.Do(req)
	switch {
	case err != nil && context.Cause(ctx) == errNotBegun: //nolint:errorlint // it is that very value
		return errNotBegun
	case err != nil:
		return e.noAnswer(ctx, request{method: http.MethodGet, path: path}, err, false)
	}
	defer resp.Body.Close()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || media != "text/event-stream" {
		return errNoEvents
	}
	slow.Stop()
	happened()
	if err := eachEvent(io.LimitReader(resp.Body, maxStream), happened); err != nil {
		return e.noAnswer(ctx, request{method: http.MethodGet, path: path}, err, true)
	}
	return fault.New(fault.Unreachable, "the BMC ended the stream of events (GET %s)", path)
}

// eachEvent calls happened at each event with data in a stream (WHATWG HTML, 9.2.6) until its end, which is no error. It keeps
// no more than the beginning of a line.
func eachEvent(r io.Reader, happened func()) error {
	in := bufio.NewReader(r)
	var begins []byte // the first bytes of the line
	length, data, afterCR := 0, false, false
	for {
		b, err := in.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if b == '\n' && afterCR {
			afterCR = false
			continue
		}
		afterCR = b == '\r'
		if b != '\n' && b != '\r' {
			if len(begins) < len("data:") {
				begins = append(begins, b)
			}
			length++
			continue
		}
		switch line := string(begins); {
		case length == 0 && data:
			happened()
			data = false
		case strings.HasPrefix(line, "data:"), line == "data" && length == len("data"):
			data = true
		}
		begins, length = begins[:0], 0
	}
}
