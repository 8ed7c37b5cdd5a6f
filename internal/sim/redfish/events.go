package redfish

import (
	"fmt"
	"net/http"
	"time"

	"go.temper.dev/temper/internal/sim/machine"
)

const (
	eventService = root + "/EventService"
	eventStream  = eventService + "/SSE"
)

// eventPart says that a persona streams events.
var eventPart = Part{"a stream of server-sent events", Reported, "openbmc/bmcweb, redfish-core; dell/iDRAC-Redfish-Scripting, SSE"}

// eventRoutes has the service of events of personas that have one. The stream itself is no resource.
func eventRoutes(r map[string]resource) {
	r[root] = r[root].edited(func(_ *call, body m) { body["EventService"] = ref(eventService) })
	r[eventService] = resource{get: func(*call) (m, error) {
		return m{
			"@odata.type": "#EventService.v1_10_1.EventService", "@odata.id": eventService, "Id": "EventService", "Name": "Event Service",
			"ServiceEnabled": true, "Status": enabled, "ServerSentEventUri": eventStream,
		}, nil
	}}
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
