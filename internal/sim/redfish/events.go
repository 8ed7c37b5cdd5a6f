package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	eventService = root + "/EventService"
	eventStream  = eventService + "/SSE"

	subscriptions = eventService + "/Subscriptions"
)

// eventModel says how a persona tells its events.
type eventModel int

const (
	noEvents eventModel = iota
	streams             // by server-sent events
	sends               // to subscribers
)

// part says where a persona's model is known from.
func (e eventModel) part() Part {
	if e == streams {
		return Part{"a stream of server-sent events", Reported, "openbmc/bmcweb, redfish-core; dell/iDRAC-Redfish-Scripting, SSE"}
	}
	return Part{"events for subscribers, and no stream", Guessed, ""}
}

// eventRoutes has the service of events of personas that have one. The stream itself is no resource.
func eventRoutes(r map[string]resource, model eventModel) {
	if model == noEvents {
		return
	}
	r[root] = r[root].edited(func(_ *call, body m) { body["EventService"] = ref(eventService) })
	r[eventService] = resource{get: func(*call) (m, error) {
		body := m{
			"@odata.type": "#EventService.v1_10_1.EventService", "@odata.id": eventService, "Id": "EventService", "Name": "Event Service",
			"ServiceEnabled": true, "Status": enabled, "Subscriptions": ref(subscriptions), "EventTypesForSubscription": eventTypes,
		}
		if model == streams {
			body["ServerSentEventUri"] = eventStream
		}
		return body, nil
	}}
	r[subscriptions] = resource{post: postSubscription, get: func(c *call) (m, error) {
		var paths []string
		for _, one := range c.s.Subscriptions() {
			paths = append(paths, subscriptions+"/"+one.ID)
		}
		return collection(subscriptions, "EventDestination", "Event Subscriptions", paths...), nil
	}}
	r[subscriptions+"/{id}"] = resource{get: getSubscription, delete: func(c *call) error {
		if !c.s.Unsubscribe(c.PathValue("id")) {
			return missing(c)
		}
		return nil
	}}
}

func getSubscription(c *call) (m, error) {
	for _, one := range c.s.Subscriptions() {
		if one.ID == c.PathValue("id") {
			return subscription(one), nil
		}
	}
	return nil, missing(c)
}

func subscription(of machine.Subscription) m {
	return m{
		"@odata.type": "#EventDestination.v1_14_1.EventDestination", "@odata.id": subscriptions + "/" + of.ID, "Id": of.ID, "Name": "Subscription " + of.ID,
		"Destination": of.Destination, "Protocol": "Redfish", "Context": of.Context, "SubscriptionType": "RedfishEvent",
		"EventTypes": of.EventTypes, "HttpHeaders": nil, // DSP0268: headers are not shown
	}
}

// eventTypes are those of the schema before it replaced them by registries and resource types (EventService 1.3).
var eventTypes = []string{"StatusChange", "ResourceUpdated", "ResourceAdded", "ResourceRemoved", "Alert"}

func postSubscription(c *call, body m) (reply, error) {
	destination, _ := body["Destination"].(string)
	words, _ := body["Context"].(string)
	want := machine.Subscription{Destination: destination, Context: words, EventTypes: []string{}, Headers: http.Header{}}
	types, _ := body["EventTypes"].([]any)
	for _, t := range types {
		want.EventTypes = append(want.EventTypes, fmt.Sprint(t))
	}
	headers, _ := body["HttpHeaders"].([]any)
	for _, one := range headers {
		fields, _ := one.(map[string]any)
		for name, v := range fields {
			want.Headers.Set(name, fmt.Sprint(v))
		}
	}
	switch {
	case destination == "":
		return reply{}, problem(http.StatusBadRequest, "CreateFailedMissingReqProperties", "Destination")
	case body["Protocol"] != "Redfish":
		return reply{}, problem(http.StatusBadRequest, "PropertyValueNotInList", fmt.Sprint(body["Protocol"]), "Protocol")
	}
	for _, t := range want.EventTypes {
		if !slices.Contains(eventTypes, t) {
			return reply{}, problem(http.StatusBadRequest, "PropertyValueNotInList", t, "EventTypes")
		}
	}
	one, ok := c.s.Subscribe(want)
	if !ok {
		return reply{}, problem(http.StatusServiceUnavailable, "EventSubscriptionLimitExceeded")
	}
	return reply{status: http.StatusCreated, location: subscriptions + "/" + one.ID, body: subscription(one)}, nil
}

// commentEvery is how often a stream without events has a comment.
const commentEvery = 10 * time.Second

// streamEvents sends an event for each change of the server until the client hangs up.
func streamEvents(w http.ResponseWriter, r *http.Request, s *machine.Server) {
	changes, end := s.Watch()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(text string) bool {
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	ok := send(": temper's simulated rack\n\n")
	comments := time.NewTicker(commentEvery)
	defer comments.Stop()
	for n := 1; ok; n++ {
		select {
		case <-r.Context().Done():
			return
		case <-comments.C:
			ok = send(":\n\n")
		case <-changes:
			ok = send(fmt.Sprintf("id: %d\ndata: {\"@odata.type\": \"#Event.v1_9_0.Event\", \"Id\": \"%d\",\ndata: \"Events\": [{\"MessageId\": \"ResourceEvent.1.3.ResourceChanged\"}]}\n\n", n, n))
		}
	}
}
