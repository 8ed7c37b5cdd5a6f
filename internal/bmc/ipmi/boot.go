package ipmi

import (
	"context"
	"errors"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

// Devices of the boot flags (IPMI 2.0, table 28-14).
var (
	selectors = map[bmc.Device]types.BootDeviceSelector{
		bmc.DevicePXE: 1, bmc.DeviceDisk: 2, bmc.DeviceSafe: 3, bmc.DeviceCDROM: 5, bmc.DeviceBIOS: 6,
	}
	devices = map[types.BootDeviceSelector]bmc.Device{
		0: bmc.DeviceNone, 1: bmc.DevicePXE, 2: bmc.DeviceDisk, 3: bmc.DeviceSafe, 4: "diagnostic partition", 5: bmc.DeviceCDROM,
		6: bmc.DeviceBIOS, 7: "remote removable media", 8: "remote cdrom", 9: "remote media", 11: "remote disk", 15: "removable media",
	}
)

// BootDevices returns the devices that IPMI has and Ironic has a name for. A BMC does not say which of them it takes.
func (*session) BootDevices(context.Context) ([]bmc.Device, error) {
	return []bmc.Device{bmc.DevicePXE, bmc.DeviceDisk, bmc.DeviceCDROM, bmc.DeviceBIOS, bmc.DeviceSafe}, nil
}

// Boot reads the boot flags. Flags that are not valid any more are no override.
func (s *session) Boot(ctx context.Context) (bmc.Boot, error) {
	flags, err := s.bootFlags(ctx)
	if err != nil {
		return bmc.Boot{}, s.wrap("read boot flags", err)
	}
	return bootFromFlags(flags), nil
}

func bootFromFlags(f types.BootOptionParam_BootFlags) bmc.Boot {
	if !f.BootFlagsValid {
		return bmc.Boot{}
	}
	out := bmc.Boot{Mode: bmc.ModeBIOS}
	if f.BIOSBootType == types.BIOSBootTypeEFI {
		out.Mode = bmc.ModeUEFI
	}
	var known bool
	if out.Device, known = devices[f.BootDeviceSelector]; !known {
		out.Device = bmc.Device(fmt.Sprintf("device %d", f.BootDeviceSelector))
	}
	out.Persistent = f.Persist && out.Device != bmc.DeviceNone
	return out
}

// bootFlags reads parameter 5 of the boot options.
func (s *session) bootFlags(ctx context.Context) (out types.BootOptionParam_BootFlags, err error) {
	data, err := s.bootOption(ctx, types.BootOptionParamSelector_BootFlags)
	if err != nil {
		return out, err
	}
	if len(data) > 5 { // bytes that the specification does not have
		data = data[:5]
	}
	if err := out.Unpack(data); err != nil {
		return out, malformed(types.CommandGetSystemBootOptions, err)
	}
	return out, nil
}

// bootOption reads the data of a parameter of the boot options.
func (s *session) bootOption(ctx context.Context, p types.BootOptionParamSelector) ([]byte, error) {
	request := &chassis.GetSystemBootOptionsParamRequest{ParamSelector: p}
	var answer chassis.GetSystemBootOptionsParamResponse
	if err := s.read(ctx, request, &answer); err != nil {
		return nil, err
	}
	return answer.ParamData, nil
}

// SetBoot writes the boot flags.
func (s *session) SetBoot(ctx context.Context, want bmc.Boot) error {
	ctx = bmc.Asking(ctx, want.Name())
	return s.wrap("set boot flags", s.setBoot(ctx, want))
}

// setBoot writes the flags. If the BMC refuses to clear them, it sets a persistent override of
// the disk, as Ironic does.
func (s *session) setBoot(ctx context.Context, want bmc.Boot) error {
	if _, known := selectors[want.Device]; !known && want.Device != bmc.DeviceNone {
		return fault.New(fault.Invalid, "IPMI has no boot device %.40q", string(want.Device))
	}
	have, err := s.bootFlags(ctx)
	if err != nil {
		return err
	}
	if s.endpoint.info.disableBootTimeout && want.Device != bmc.DeviceNone {
		if err := s.keepFlags(ctx); err != nil {
			return err
		}
	}
	err = s.writeFlags(ctx, nextFlags(want, have))
	var no *refusal
	if want.Device != bmc.DeviceNone || !errors.As(err, &no) || !fault.Is(err, fault.Refused) {
		return err
	}
	if disk := s.writeFlags(ctx, nextFlags(bmc.Boot{Device: bmc.DeviceDisk, Persistent: true, Mode: want.Mode}, have)); disk != nil {
		return fault.New(fault.KindOf(disk), "%w; setting it to the disk instead failed, too: %s", err, disk.Error())
	}
	return nil
}

// nextFlags returns the flags to write. If want names no mode, the mode stays as it is; if
// there are no valid flags, it is UEFI, which is Ironic's default (default_boot_mode).
func nextFlags(want bmc.Boot, have types.BootOptionParam_BootFlags) *types.BootOptionParam_BootFlags {
	out := &types.BootOptionParam_BootFlags{
		BootFlagsValid: true, Persist: want.Persistent, BIOSBootType: types.BIOSBootTypeEFI, BootDeviceSelector: selectors[want.Device],
	}
	if want.Mode == bmc.ModeBIOS || want.Mode == bmc.ModeUnknown && have.BootFlagsValid && have.BIOSBootType == types.BIOSBootTypeLegacy {
		out.BIOSBootType = types.BIOSBootTypeLegacy
	}
	return out
}

func (s *session) writeFlags(ctx context.Context, flags *types.BootOptionParam_BootFlags) error {
	return s.change(ctx, &chassis.SetSystemBootOptionsParamRequest{
		ParamSelector: types.BootOptionParamSelector_BootFlags, ParamData: flags.Pack(),
	}, false)
}

// keepAfterTimeout is the bit of parameter 3 with which a BMC keeps the boot flags although no
// Chassis Control comes within 60 seconds (IPMI 2.0, table 28-14).
const keepAfterTimeout = 0x08

// keepFlags keeps the BMC from dropping the flags after 60 seconds. Many BMCs don't have the
// parameter; then the flags are written without it.
func (s *session) keepFlags(ctx context.Context) error {
	var no *refusal
	data, err := s.bootOption(ctx, types.BootOptionParamSelector_BMCBootFlagValidBitClear)
	if errors.As(err, &no) || err == nil && len(data) > 0 && data[0]&keepAfterTimeout != 0 {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.change(ctx, &chassis.SetSystemBootOptionsParamRequest{
		ParamSelector: types.BootOptionParamSelector_BMCBootFlagValidBitClear, ParamData: []byte{keepAfterTimeout},
	}, false)
	if errors.As(err, &no) {
		return nil
	}
	return err
}
