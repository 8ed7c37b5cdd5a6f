package worker_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/mask"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/plan"
	"go.temper.dev/temper/internal/secret"
	"go.temper.dev/temper/worker"
)

// tiny is a complete new driver: this entry, the line that creates it, and below the driver
// itself, which can only switch servers on and off.
var tiny = node.HardwareType{
	Name:       "tiny",
	About:      "Servers that can be switched on and off, and no more.",
	Properties: []node.Property{{Name: "tiny_address", Required: true, Decides: true, About: "Where it is."}},
	Implementations: map[string][]node.Implementation{
		"power": {{Name: "tiny", Aliases: []string{"tiniest"}, Means: node.MeansBMC}},
		"boot":  {{Name: "no-boot"}},
	},
}

func init() {
	for _, i := range node.Interfaces {
		if tiny.Implementations[i] == nil {
			tiny.Implementations[i] = []node.Implementation{{Name: "no-" + i}}
		}
	}
	node.RegisterHardware(tiny)
	worker.AddDriver(tiny.Name, func(worker.HardwareConfig) bmc.Driver { return &tinyDriver{power: bmc.PowerOff} })
}

type tinyDriver struct {
	mu    sync.Mutex
	power bmc.Power
}

func (*tinyDriver) Validate(info map[string]any) error {
	if address, ok := info["tiny_address"].(string); !ok || address == "" {
		return fault.New(fault.Invalid, "tiny_address is missing")
	}
	return nil
}

func (d *tinyDriver) Open(_ context.Context, t bmc.Target) (bmc.Session, error) {
	if err := d.Validate(t.Info); err != nil {
		return bmc.Session{}, err
	}
	return bmc.Session{PowerControl: &tinySession{driver: d, target: t}}, nil
}

func (*tinyDriver) Close(context.Context) {}

type tinySession struct {
	driver *tinyDriver
	target bmc.Target
}

func (s *tinySession) Power(ctx context.Context) (bmc.Power, error) {
	if err := tinyEnd(ctx); err != nil {
		return bmc.PowerUnknown, err
	}
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	return s.driver.power, nil
}

func (s *tinySession) RequestPower(ctx context.Context, r bmc.PowerRequest) error {
	want, known := map[bmc.PowerRequest]bmc.Power{
		bmc.RequestOn: bmc.PowerOn, bmc.RequestForceOff: bmc.PowerOff, bmc.RequestSoftOff: bmc.PowerOff,
	}[r]
	if !known {
		return fault.New(fault.Invalid, "no such request")
	}
	if err := tinyEnd(ctx); err != nil {
		return err
	}
	if _, err := s.target.Permit(ctx, bmc.Request{Name: r.Name()}); err != nil {
		return err
	}
	s.driver.mu.Lock()
	defer s.driver.mu.Unlock()
	s.driver.power = want
	return nil
}

// tinyEnd returns why ctx has ended.
func tinyEnd(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return fault.New(fault.KindOf(cause), "tiny: %w", cause)
	}
	return nil
}

func TestADriverMayLackAllButPower(t *testing.T) {
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		h, err := worker.NewHardware([]string{tiny.Name}, worker.HardwareConfig{Log: zap.NewNop()})
		require.NoError(t, err)
		return bmctest.Rig{
			Type: tiny, Driver: h[tiny.Name],
			Target:  bmc.Target{Node: "n1", Info: map[string]any{"tiny_address": "here"}},
			BadInfo: map[string]any{},
		}
	})
}

func TestANewDriverIsOneEntry(t *testing.T) {
	h, err := worker.NewHardware([]string{tiny.Name}, worker.HardwareConfig{Log: zap.NewNop()})
	require.NoError(t, err)
	require.Error(t, h.Validate(tiny.Name, map[string]any{}))
	require.NoError(t, h.Validate(tiny.Name, map[string]any{"tiny_address": "here"}))
	enabled := h.Enabled()[tiny.Name]
	require.Equal(t, []string{"tiny", "tiniest"}, enabled["power"])

	all, err := tiny.Resolve(map[string]string{"power": "tiniest"}, enabled)
	require.NoError(t, err)
	n := &node.Node{UUID: "n1", Driver: tiny.Name, Interfaces: all, DriverInfo: map[string]any{"tiny_address": "here", "tiny_password": mask.Masked}}
	steps, err := plan.Steps(node.KindPower, n, nil, plan.Options{Power: node.PowerOff})
	require.NoError(t, err)
	require.Len(t, steps, 1)
	_, err = plan.Steps(node.KindInspect, n, nil, plan.Options{})
	require.EqualError(t, err, "Driver tiny does not support inspect (disabled or not implemented).")
	require.Equal(t, secret.Destination{"driver": `"tiny"`, "driver_info/tiny_address": `"here"`}, secret.DestinationOf(n, "driver_info/tiny_password"))
}
