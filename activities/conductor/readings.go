package conductor

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/jsonvalue"
	"go.temper.dev/temper/internal/node"
)

// ReadingStore keeps what was read through interfaces of nodes.
type ReadingStore interface {
	// SaveReading replaces what was read before.
	SaveReading(ctx context.Context, operation int64, c node.Claim, iface string, data json.RawMessage) error
	// KeptReading returns nil if nothing was read yet.
	KeptReading(ctx context.Context, nodeID int64, iface string) (*node.KeptReading, error)
}

// refreshReadings reads what clients can list of the node. The step does not need it, so that only the end of the attempt is an error.
func (t *task) refreshReadings(ctx context.Context) error {
	for iface, refresh := range map[string]func(context.Context) error{"bios": t.refreshBIOS, "firmware": t.refreshFirmware} {
		if t.node.Implementation(iface).Means != node.MeansBMC {
			continue
		}
		err := refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case fault.Is(err, fault.Lost), fault.Is(err, fault.NotAllowed):
			return err
		case err != nil:
			t.log.Info("what clients can list of the node could not be read", zap.String("interface", iface), zap.Error(err))
		}
	}
	return nil
}

func (t *task) refreshBIOS(ctx context.Context) error {
	s, err := t.bmc(ctx)
	if err != nil || s.BIOSControl == nil {
		return err
	}
	b, err := s.BIOS(ctx)
	if err != nil {
		return err
	}
	return t.keepBIOS(ctx, b)
}

// keepBIOS keeps the settings that were read, with what the BMC's registry says of them. A registry is read once for its name.
func (t *task) keepBIOS(ctx context.Context, b bmc.BIOS) error {
	var before node.BIOSReading
	if err := t.kept(ctx, "bios", &before); err != nil {
		return err
	}
	known := map[string]node.BIOSSetting{}
	if b.Registry != "" && before.Registry == b.Registry {
		for _, s := range before.Settings {
			known[s.Name] = s
		}
	} else if s, err := t.bmc(ctx); err == nil && s.BIOSControl != nil {
		if known, err = s.BIOSRegistry(ctx, b.Registry); err != nil {
			t.log.Info("the registry of the BIOS settings could not be read", zap.String("registry", b.Registry), zap.Error(err))
			b.Registry = "" // so that it is read again
		}
	}
	now := node.BIOSReading{Registry: b.Registry, Settings: []node.BIOSSetting{}}
	for _, name := range slices.Sorted(maps.Keys(b.Values)) {
		one := known[name]
		one.Name, one.Value = name, nil
		if v := b.Values[name]; v != nil {
			text := node.BIOSText(v)
			one.Value = &text
		}
		now.Settings = append(now.Settings, one)
	}
	return t.keep(ctx, "bios", now)
}

// kept decodes what was read through an interface before. If nothing was, into stays as it is.
func (t *task) kept(ctx context.Context, iface string, into any) error {
	r, err := t.Store.KeptReading(ctx, t.node.ID, iface)
	if err != nil || r == nil {
		return err
	}
	return jsonvalue.Unmarshal(r.Data, into)
}

func (t *task) keep(ctx context.Context, iface string, reading any) error {
	data, err := jsonvalue.Marshal(reading)
	if err != nil {
		return fault.New(fault.Internal, "encode what was read through the interface %s: %w", iface, err)
	}
	return t.Store.SaveReading(ctx, t.op.ID, t.claim, iface, data)
}
