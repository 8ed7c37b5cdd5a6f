package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/bmc/ipmi"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// Hardware has the drivers of a process by hardware type. The API uses them only to validate
// driver_info, and opens no session.
type Hardware map[string]bmc.Driver

// HardwareConfig is what drivers are made with.
type HardwareConfig struct {
	BMC     bmc.Settings
	Delays  fake.Delays      // of fake hardware
	Observe redfish.Observer // nil = nobody
	// Subscriptions takes the events of BMCs that have no stream of them; nil = nobody does.
	Subscriptions redfish.SubscriptionBook
	// IgnoreEvents says that nobody follows the events of BMCs.
	IgnoreEvents bool
	// Sessions remembers the sessions with BMCs; nil = nobody does.
	Sessions redfish.SessionBook
	Log      *zap.Logger
}

// newDriver has the constructor of the driver of each hardware type (package node).
var newDriver = map[string]func(HardwareConfig) bmc.Driver{
	"redfish": newRedfish, "idrac": newRedfish,
	"ipmi": func(c HardwareConfig) bmc.Driver {
		return ipmi.New(ipmi.Config{Settings: c.BMC, Observer: ipmi.Observer(c.Observe)})
	},
	"fake-hardware": func(c HardwareConfig) bmc.Driver { return fake.New(c.Delays) },
}

func newRedfish(c HardwareConfig) bmc.Driver {
	return &serialConsole{
		insecureWarner: &insecureWarner{Driver: redfish.New(redfish.Config{
			Settings: c.BMC, Observer: c.Observe, Sessions: c.Sessions, Subscriptions: c.Subscriptions, IgnoreEvents: c.IgnoreEvents,
		}), log: c.Log},
		ipmi: ipmi.New(ipmi.Config{Settings: c.BMC, Observer: ipmi.Observer(c.Observe)}),
	}
}

// NewHardware makes the drivers of the hardware types that are named.
func NewHardware(types []string, c HardwareConfig) (Hardware, error) {
	h := Hardware{}
	for _, name := range types {
		create, ok := newDriver[name]
		if !ok {
			return nil, fmt.Errorf("unknown hardware type %q: there are %v", name, node.HardwareTypes())
		}
		h[name] = create(c)
	}
	return h, nil
}

// insecureWarner logs once for each node that the connection to its BMC is not encrypted or not
// verified, so that this setting is not forgotten.
type insecureWarner struct {
	*redfish.Driver
	log  *zap.Logger
	said sync.Map
}

// Open logs the warning and opens a session.
func (o *insecureWarner) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	if why := o.Insecure(t.Info); why != "" {
		if _, again := o.said.LoadOrStore(t.Node+why, true); !again {
			o.log.Warn("the connection to a BMC is insecure", zap.String("node", t.Node), zap.String("why", why))
		}
	}
	return o.Driver.Open(ctx, t)
}

// Close closes what the sessions of the drivers share.
func (h Hardware) Close(ctx context.Context) {
	for _, d := range h {
		d.Close(ctx)
	}
}

// Slow returns how many BMCs need longer than usual for their answers, as far as their drivers learn that.
func (h Hardware) Slow() (n int) {
	for _, d := range h {
		if learner, ok := d.(interface{ Slow() int }); ok {
			n += learner.Slow()
		}
	}
	return n
}

// Validate checks driver_info without touching the BMC.
func (h Hardware) Validate(driver string, info map[string]any) error {
	d, ok := h[driver]
	if !ok {
		return fault.New(fault.Invalid, "unknown hardware type %q: there are %v", driver, slices.Sorted(maps.Keys(h)))
	}
	return d.Validate(info)
}

// Enabled returns the interfaces that a conductor offers for each driver: all that the hardware
// type supports. The first one is the default.
func (h Hardware) Enabled() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for d := range h {
		if t, ok := node.Hardware(d); ok {
			out[d] = t.Supports()
		}
	}
	return out
}
