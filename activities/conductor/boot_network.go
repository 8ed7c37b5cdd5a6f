package conductor

import (
	"context"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/node"
)

// networkBoot boots the ramdisk by network, with a one-time boot override. What the server loads stands in the database, where whatever
// process it asks finds it by the MAC.
type networkBoot struct{ device bmc.Device }

// prepareRamdisk lets the server load its files, sets the override and reads it back.
func (n networkBoot) prepareRamdisk(ctx context.Context, t *task, _ *node.Step) (bool, error) {
	device, ramdisk, on, err := t.toBoot(ctx, node.UndoClearBoot)
	if err != nil || on {
		return on, err
	}
	m := t.medium(ramdisk)
	m.Network, m.HTTP, m.NetworkData = true, n.device == bmc.DeviceUEFIHTTP, nil // who boots by network has an address by DHCP
	key := func(uuid string) []byte { return medium.Hash("boot by network of " + uuid) }
	if _, err := t.Store.BeginBoot(ctx, t.op.ID, t.claim, &node.BootMedium{Medium: m, KeyHash: key}); err != nil {
		return false, err
	}
	return false, t.setBoot(ctx, device, bmc.Boot{Device: n.device})
}

func (networkBoot) cleanUpRamdisk(ctx context.Context, t *task) error {
	device, err := t.bootDevice(ctx)
	if err != nil {
		return err
	}
	if err := t.setBoot(ctx, device, bmc.Boot{Device: bmc.DeviceNone}); err != nil {
		return err
	}
	t.undone(node.UndoClearBoot)
	return nil
}

// insertISO can't be done: requests for it are refused (node.CheckInstanceISO).
func (networkBoot) insertISO(_ context.Context, t *task, _ *node.Step, _ string, _ bool) error {
	return fault.New(fault.Invalid, "%w", t.node.CheckInstanceISO())
}

func (networkBoot) giveUpRamdisk(context.Context, *task) {}

// imageBoot boots the ramdisk from an ISO image that UEFI loads by HTTP, with a one-time boot override that has the URL.
type imageBoot struct{ networkBoot }

// prepareRamdisk sets the override and reads it back.
func (i imageBoot) prepareRamdisk(ctx context.Context, t *task, _ *node.Step) (bool, error) {
	device, ramdisk, on, err := t.toBoot(ctx, node.UndoClearBoot)
	if err != nil || on {
		return on, err
	}
	iso, err := t.bootImage(ctx, ramdisk)
	if err != nil {
		return false, err
	}
	return false, t.setBoot(ctx, device, bmc.Boot{Device: i.device, URI: iso})
}

func (i imageBoot) insertISO(ctx context.Context, t *task, _ *node.Step, iso string, persistent bool) error {
	device, err := t.bootDevice(ctx)
	if err != nil {
		return err
	}
	return t.setBoot(ctx, device, bmc.Boot{Device: i.device, URI: iso, Persistent: persistent})
}
