package node

// Reading is what a client can have a conductor read from a node's BMC.
type Reading string

// The readings.
const (
	ReadBootDevice  Reading = "boot device"
	ReadBootDevices Reading = "supported boot devices"

	ReadIndicators Reading = "indicators"
	ReadMedia      Reading = "virtual media"

	ReadSubscriptions Reading = "event subscriptions"
	ReadSubscription  Reading = "event subscription" // one of them
)

// BMCReading is what a BMC answers to a Reading. Only the field for that Reading is set.
type BMCReading struct {
	BootDevice  BootDevice `json:"boot_device"`
	BootDevices []string   `json:"boot_devices,omitempty"` // from which the server can boot, by Ironic's names

	Indicators []Indicator  `json:"indicators,omitempty"`
	Media      []MediaDrive `json:"media,omitempty"`

	Subscriptions *EventSubscriptions `json:"subscriptions,omitempty"`
	Subscription  *EventSubscription  `json:"subscription,omitempty"` // what may be secret in its Destination and Context is masked
}
