package worker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/bmc/redfish"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/image"
	"go.temper.dev/temper/internal/node"
)

// Hardware are the drivers of a process, by hardware type. The API has them
// only to check driver_info; it opens no conversation.
type Hardware map[string]bmc.Driver

// NewHardware makes the drivers that are named. delays are those of fake hardware.
func NewHardware(drivers []string, s bmc.Settings, delays fake.Delays, observe redfish.Observer, log *zap.Logger) (Hardware, error) {
	h := Hardware{}
	for _, d := range drivers {
		switch d {
		case "redfish":
			h[d] = &outspoken{Driver: redfish.New(redfish.Config{Settings: s, Observer: observe}), log: log}
		case "fake-hardware":
			h[d] = fake.New(delays)
		default:
			return nil, fmt.Errorf("unknown hardware type %q: there are %v", d, node.HardwareTypes())
		}
	}
	return h, nil
}

// outspoken says once of each node that its BMC is talked to in a way that
// somebody could overhear or answer, so that opting out stays visible.
type outspoken struct {
	*redfish.Driver
	log  *zap.Logger
	said sync.Map
}

// Open warns and opens.
func (o *outspoken) Open(ctx context.Context, t bmc.Target) (bmc.Session, error) {
	if why := redfish.Insecure(t.Info); why != "" {
		if _, again := o.said.LoadOrStore(t.Node+why, true); !again {
			o.log.Warn("insecure conversation with a BMC", zap.String("node", t.Node), zap.String("why", why))
		}
	}
	return o.Driver.Open(ctx, t)
}

// Close ends what the drivers share.
func (h Hardware) Close(ctx context.Context) {
	for _, d := range h {
		d.Close(ctx)
	}
}

// Validate checks driver_info without touching the BMC.
func (h Hardware) Validate(driver string, info map[string]any) error {
	d, ok := h[driver]
	if !ok {
		return fault.New(fault.Invalid, "unknown hardware type %q: there are %v", driver, slices.Sorted(maps.Keys(h)))
	}
	return d.Validate(info)
}

// bootProperties are what implementations of the boot interface need of driver_info, beside the BMC's.
var bootProperties = map[string]map[string]string{
	"redfish-virtual-media": {
		"deploy_iso": "http or https URL of the ISO image that boots the ramdisk agent. Required by the boot interface " +
			"redfish-virtual-media, here or in instance_info.",
	},
}

// Properties documents driver_info, for the BMC and for the boot interfaces; nil for an unknown driver.
func (h Hardware) Properties(driver string) map[string]string {
	d, ok := h[driver]
	if !ok {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, d.Properties())
	t, _ := node.Hardware(driver) // without one it has no boot interfaces
	for _, boot := range t.Supports["boot"] {
		maps.Copy(all, bootProperties[boot])
	}
	return all
}

// Enabled are the interfaces that a conductor offers for its drivers: all that
// the hardware types support, the first being the default.
func (h Hardware) Enabled() map[string]map[string][]string {
	out := map[string]map[string][]string{}
	for d := range h {
		if t, ok := node.Hardware(d); ok {
			out[d] = t.Supports
		}
	}
	return out
}

// Images reads what the agent has to fetch from a node's dictionaries.
func Images(p image.Policy) func(context.Context, string, map[string]any, map[string]any) (agent.ImageInfo, error) {
	resolver := image.NewResolver(p, 0)
	return func(ctx context.Context, nodeUUID string, instance, driver map[string]any) (agent.ImageInfo, error) {
		info, err := image.Parse(nodeUUID, instance, driver, p)
		if err != nil {
			return agent.ImageInfo{}, err
		}
		if info, err = resolver.Resolve(ctx, info); err != nil {
			return agent.ImageInfo{}, err
		}
		return info.ForAgent(), nil
	}
}
