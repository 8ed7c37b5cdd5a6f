package ipmi

import (
	"sync"

	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/machine"
)

// bootOptions are the parameters of the boot options besides the boot flags, which are the
// machine's boot override.
type bootOptions struct {
	mu        sync.Mutex
	keepFlags uint8 // parameter 3: when the flags stay valid
}

// bootTargets has the machine's boot target for each device of the flags.
var bootTargets = map[types.BootDeviceSelector]string{
	types.BootDeviceSelectorNoOverride:     "None",
	types.BootDeviceSelectorForcePXE:       "Pxe",
	types.BootDeviceSelectorForceHardDrive: "Hdd",
	types.BootDeviceSelectorForceCDROM:     "Cd",
	types.BootDeviceSelectorForceBIOSSetup: "BiosSetup",
}

// bootParamVersion is the version of the parameters (IPMI 2.0, table 28-13).
const bootParamVersion = 1

func getBootOptions(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	if len(request) < 3 {
		return nil, types.CodeRequestDataLengthInvalid
	}
	answer := []byte{bootParamVersion, request[0] & 0x7f}
	switch types.BootOptionParamSelector(request[0] & 0x7f) {
	case types.BootOptionParamSelector_SetInProgress:
		return append(answer, 0), types.CodeOK
	case types.BootOptionParamSelector_BMCBootFlagValidBitClear:
		hw.boot.mu.Lock()
		defer hw.boot.mu.Unlock()
		return append(answer, hw.boot.keepFlags), types.CodeOK
	case types.BootOptionParamSelector_BootInfoAcknowledge:
		return append(answer, 0, 0), types.CodeOK
	case types.BootOptionParamSelector_BootFlags:
		flags := flagsOf(hw.machine.BootOverride())
		return append(answer, flags.Pack()...), types.CodeOK
	}
	return nil, types.CodeParameterNotSupported
}

func flagsOf(b machine.Boot) types.BootOptionParam_BootFlags {
	out := types.BootOptionParam_BootFlags{BIOSBootType: types.BIOSBootType(b.Mode == "UEFI")}
	if b.Enabled == machine.NoOverride.Enabled {
		return out
	}
	out.BootFlagsValid, out.Persist = true, b.Enabled == "Continuous"
	for selector, target := range bootTargets {
		if target == b.Target {
			out.BootDeviceSelector = selector
		}
	}
	return out
}

func setBootOptions(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	if len(request) < 1 {
		return nil, types.CodeRequestDataLengthInvalid
	}
	data := request[1:]
	switch types.BootOptionParamSelector(request[0] & 0x7f) {
	case types.BootOptionParamSelector_SetInProgress, types.BootOptionParamSelector_BootInfoAcknowledge:
		return nil, types.CodeOK
	case types.BootOptionParamSelector_BMCBootFlagValidBitClear:
		if len(data) != 1 {
			return nil, types.CodeRequestDataLengthInvalid
		}
		hw.boot.mu.Lock()
		defer hw.boot.mu.Unlock()
		hw.boot.keepFlags = data[0] & 0x1f
		return nil, types.CodeOK
	case types.BootOptionParamSelector_BootFlags:
		return nil, setFlags(hw.machine, data)
	}
	return nil, types.CodeParameterNotSupported
}

func setFlags(m *machine.Server, data []byte) types.CompletionCode {
	var flags types.BootOptionParam_BootFlags
	if flags.Unpack(data) != nil {
		return types.CodeRequestDataLengthInvalid
	}
	target, ok := bootTargets[flags.BootDeviceSelector]
	if !ok {
		return types.CodeRequestDataFieldInvalid
	}
	b := machine.Boot{Target: target, Enabled: "Once", Mode: "Legacy"}
	if flags.BIOSBootType == types.BIOSBootTypeEFI {
		b.Mode = "UEFI"
	}
	switch {
	case !flags.BootFlagsValid || target == machine.NoOverride.Target:
		b.Target, b.Enabled = machine.NoOverride.Target, machine.NoOverride.Enabled
	case flags.Persist:
		b.Enabled = "Continuous"
	}
	m.SetBootOverride(b)
	return types.CodeOK
}
