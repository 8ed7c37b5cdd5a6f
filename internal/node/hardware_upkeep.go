package node

import "go.temper.dev/temper/internal/fault"

// ArgSettings is the argument of steps that change BIOS settings or firmware.
const ArgSettings = "settings"

// checkedBy makes a check of an argument of the function that reads it.
func checkedBy[T any](read func(any) (T, error)) func(any) error {
	return func(v any) error {
		_, err := read(v)
		return err
	}
}

// checkFlag is the check of an argument that says yes or no.
func checkFlag(v any) error {
	if _, ok := v.(bool); !ok {
		return fault.New(fault.Invalid, "want true or false")
	}
	return nil
}

// biosOfRedfish is the interface of BIOS settings of servers whose BMC speaks Redfish. Its steps boot the server.
func biosOfRedfish(name string) Implementation {
	steps := []StepSpec{
		{Step: "apply_configuration", NoRamdisk: true, Args: map[string]ArgSpec{
			ArgSettings: {Required: true, Description: "A list of BIOS settings to be applied, each with its name and value", Check: checkedBy(BIOSOrder)},
		}},
		{Step: "factory_reset", NoRamdisk: true},
	}
	return Implementation{Name: name, Means: MeansBMC, DeploySteps: steps, CleanSteps: steps, ServiceSteps: steps}
}

// firmwareOfRedfish is the interface that updates the firmware of servers whose BMC speaks Redfish.
var firmwareOfRedfish = func() Implementation {
	steps := []StepSpec{{Step: "update", NoRamdisk: true, Args: map[string]ArgSpec{
		ArgSettings: {Required: true, Secret: true, Description: "A list of firmware to be updated, each with its component (bios, bmc or nic:ID) and url; also its checksum, and wait: seconds after the update", Check: checkedBy(FirmwareOrders)},
	}}}
	return Implementation{Name: "redfish", Means: MeansBMC, DeploySteps: steps, CleanSteps: steps, ServiceSteps: steps}
}()
