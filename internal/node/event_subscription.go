package node

import (
	"net/url"
	"path"
	"strings"
)

// EventSubscription is a subscription to the events of a BMC, by Redfish's names (DSP0268, EventDestination).
type EventSubscription struct {
	ID          string   `json:"Id"`
	Context     string   `json:"Context"`
	Protocol    string   `json:"Protocol"`
	Destination string   `json:"Destination,omitempty"` // a URL, which may contain secrets
	EventTypes  []string `json:"EventTypes"`
}

// EventSubscriptions are the subscriptions to the events of a BMC, without those of Temper itself.
type EventSubscriptions struct {
	Path    string   `json:"path"`    // of the collection
	Members []string `json:"members"` // their paths
}

// IsEventDestination reports whether events that are sent to the URL destination are for Temper itself.
func IsEventDestination(destination string) bool {
	u, err := url.Parse(destination)
	return err == nil && strings.HasSuffix(path.Dir(u.Path)+"/", EventPath)
}
