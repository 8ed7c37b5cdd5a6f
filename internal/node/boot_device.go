package node

// The devices that a server may be told to boot from, by Ironic's names. Not every BMC has all of them.
const (
	DevicePXE   = "pxe"
	DeviceDisk  = "disk"
	DeviceCDROM = "cdrom"
	DeviceBIOS  = "bios" // the setup of the firmware
	DeviceSafe  = "safe" // the disk, in the operating system's safe mode
	// DeviceUEFIHTTP is the network by UEFI's boot by HTTP.
	DeviceUEFIHTTP = "uefihttp"
)

// BootDevices are the devices that a server may be told to boot from.
var BootDevices = []string{DevicePXE, DeviceDisk, DeviceCDROM, DeviceBIOS, DeviceSafe, DeviceUEFIHTTP}

// BootDevice is what a server boots from.
type BootDevice struct {
	Device     string `json:"boot_device"` // by Ironic's name, or the BMC's if Ironic has none; "" = nothing is set
	Persistent bool   `json:"persistent"`  // false = for the next boot only
}

// The arguments of the step that sets the boot device.
const (
	argBootDevice = "boot_device"
	argPersistent = "persistent"
)

// Args returns the arguments of the step that sets the boot device.
func (b BootDevice) Args() map[string]any {
	return map[string]any{argBootDevice: b.Device, argPersistent: b.Persistent}
}

// BootDevice returns the boot device that the step is to set; the zero value if it is another step.
func (s Step) BootDevice() BootDevice {
	device, _ := s.Args[argBootDevice].(string)
	persistent, _ := s.Args[argPersistent].(bool)
	return BootDevice{Device: device, Persistent: persistent}
}
