package ipmi

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"go.temper.dev/temper/internal/sim/faults"
	"go.temper.dev/temper/internal/sim/machine"
)

// handler carries out a command and returns the data and the completion code of the answer.
type handler func(hw *hardware, request []byte) ([]byte, types.CompletionCode)

func register(r *handlers.Registry, c types.Command, h handler) {
	r.RegisterFunc(c, func(_ context.Context, hctx *handlers.HandlerContext, request []byte) ([]byte, types.CompletionCode, error) {
		data, code := h(hardwareOf(hctx), request)
		return data, code, nil
	})
}

func registerChassis(r *handlers.Registry) {
	register(r, types.CommandGetChassisStatus, getChassisStatus)
	register(r, types.CommandChassisControl, chassisControl)
	register(r, types.CommandChassisIdentify, chassisIdentify)
	register(r, types.CommandSetSystemBootOptions, setBootOptions)
	register(r, types.CommandGetSystemBootOptions, getBootOptions)
}

func getChassisStatus(hw *hardware, _ []byte) ([]byte, types.CompletionCode) {
	power := hw.machine.PowerState()
	status := chassis.GetChassisStatusResponse{
		PowerIsOn: power == machine.On || power == machine.PoweringOff, ChassisIdentifySupported: true,
		CollingFanFault: hw.machine.Faults.Active(faults.FailedFan), DriveFault: hw.machine.Faults.Active(faults.FailedDrive),
	}
	switch hw.machine.Settings().LED {
	case "Lit":
		status.ChassisIdentifyState = chassis.ChassisIdentifyStateIndefiniteOn
	case "Blinking":
		status.ChassisIdentifyState = chassis.ChassisIdentifyStateTemporaryOn
	}
	return status.Pack(), types.CodeOK
}

// resets has the reset of each chassis control (IPMI 2.0, table 28-4).
var resets = map[chassis.ChassisControl]machine.ResetType{
	chassis.ChassisControlPowerDown:           machine.ResetForceOff,
	chassis.ChassisControlPowerUp:             machine.ResetOn,
	chassis.ChassisControlPowerCycle:          machine.ResetForceRestart,
	chassis.ChassisControlHardReset:           machine.ResetForceRestart,
	chassis.ChassisControlDiagnosticInterrupt: machine.ResetNMI,
	chassis.ChassisControlSoftShutdown:        machine.ResetGracefulShutdown,
}

func chassisControl(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	var typed chassis.ChassisControlRequest
	if typed.Unpack(request) != nil {
		return nil, types.CodeRequestDataLengthInvalid
	}
	reset, ok := resets[typed.ChassisControl]
	if !ok {
		return nil, types.CodeRequestDataFieldInvalid
	}
	switch err := hw.machine.Reset(reset); {
	case errors.Is(err, machine.ErrBusy):
		return nil, types.CodeNodeBusy
	case errors.Is(err, machine.ErrPoweredOff):
		return nil, types.CodeNotSupported // D5h: not supported in present state
	case err != nil:
		return nil, types.CodeUnspecifiedError
	}
	return nil, types.CodeOK
}

// light is the identification light.
type light struct {
	mu    sync.Mutex
	timer *time.Timer
}

// identifySeconds is how long the light blinks if the command does not say (IPMI 2.0, 28.5).
const identifySeconds = 15

func chassisIdentify(hw *hardware, request []byte) ([]byte, types.CompletionCode) {
	seconds := uint8(identifySeconds)
	if len(request) > 0 {
		seconds = request[0]
	}
	hw.light.mu.Lock()
	defer hw.light.mu.Unlock()
	if hw.light.timer != nil {
		hw.light.timer.Stop()
		hw.light.timer = nil
	}
	switch {
	case len(request) > 1 && request[1]&1 != 0:
		hw.machine.SetLED("Lit")
	case seconds == 0:
		hw.machine.SetLED("Off")
	default:
		hw.machine.SetLED("Blinking")
		hw.light.timer = time.AfterFunc(time.Duration(seconds)*time.Second, func() { hw.machine.SetLED("Off") })
	}
	return nil, types.CodeOK
}
