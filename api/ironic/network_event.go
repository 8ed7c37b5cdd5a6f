package ironic

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"go.temper.dev/temper/api/format"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// minorEvents is the version that added /v1/events.
const minorEvents = 54

// What Neutron may send (Ironic api/controllers/v1/event.py).
var (
	networkEvents      = []string{"network.bind_port", "network.unbind_port", "network.delete_port"}
	networkEventNeeds  = []string{"event", "port_id", "mac_address", "status"}
	networkEventFields = []string{"event", "port_id", "mac_address", "status", "device_id", "binding:host_id", "binding:vnic_type"}
	networkEventUUIDs  = []string{"port_id", "device_id", "binding:host_id"}
)

// postEvents answers POST /v1/events. As in Ironic the events are checked and have no effect: no network interface waits for one.
func (s *Server) postEvents(c *gin.Context) (int, any, error) {
	in, err := format.ReadOpenObject(c, format.MaxBody)
	if err != nil {
		return 0, nil, err
	}
	if err := checkEvents(in.Fields); err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, nil
}

func wrongEvents(words string, args ...any) error {
	return fault.New(fault.Invalid, "Schema error for evts: "+words, args...)
}

func checkEvents(body map[string]any) error {
	for name := range body {
		if name != "events" {
			return wrongEvents("Additional properties are not allowed ('%s' was unexpected)", format.Clip(name))
		}
	}
	all, there := body["events"]
	list, ok := all.([]any)
	switch {
	case !there:
		return wrongEvents("'events' is a required property")
	case !ok:
		return wrongEvents("events: %s is not of type 'array'", format.Describe(all))
	case len(list) == 0:
		return wrongEvents("events: [] is too short")
	}
	for _, one := range list {
		event, ok := one.(map[string]any)
		if !ok {
			return wrongEvents("events: %s is not of type 'object'", format.Describe(one))
		}
		if err := checkEvent(event); err != nil {
			return err
		}
	}
	return nil
}

func checkEvent(event map[string]any) error {
	for _, name := range networkEventNeeds {
		if _, ok := event[name]; !ok {
			return wrongEvents("'%s' is a required property", name)
		}
	}
	if kind, ok := event["event"].(string); !ok || !slices.Contains(networkEvents, kind) {
		return wrongEvents("event: %s is not one of ['%s']", format.Describe(event["event"]), strings.Join(networkEvents, "', '"))
	}
	for name, v := range event {
		text, isText := v.(string)
		switch {
		case !slices.Contains(networkEventFields, name):
			return wrongEvents("Additional properties are not allowed ('%s' was unexpected)", format.Clip(name))
		case v == nil && !slices.Contains(networkEventNeeds, name):
		case !isText:
			return wrongEvents("%s: %s is not of type 'string'", name, format.Describe(v))
		case slices.Contains(networkEventUUIDs, name) && !node.IsUUID(node.CanonicalUUID(text)):
			return fault.New(fault.Invalid, "Expected UUID for %s: %s", name, format.Clip(text))
		}
	}
	if mac, _ := event["mac_address"].(string); !isMAC(mac) {
		return fault.New(fault.Invalid, "Expected valid MAC address for mac_address: %s", format.Clip(mac))
	}
	return nil
}

func isMAC(s string) bool {
	_, ok := normalMAC(s)
	return ok
}
