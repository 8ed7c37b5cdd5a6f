package node

// The arguments of the steps that are requests to the management interface.
const (
	ArgTarget      = "target"       // a boot mode, or whether Secure Boot is on
	ArgComponent   = "component"    // of the server, that has a light
	ArgIndicator   = "indicator"    // the name of the light
	ArgState       = "state"        // of the light
	ArgDeviceType  = "device_type"  // of a virtual drive
	ArgDeviceTypes = "device_types" // absent = all
	ArgImageURL    = "image_url"
)

// Boot modes, by Ironic's names.
const (
	BootModeUEFI = "uefi"
	BootModeBIOS = "bios"
)

// BootModes are the modes in which a server may be told to boot.
var BootModes = []string{BootModeUEFI, BootModeBIOS}

// Components of a server that have lights, by Ironic's names.
const (
	LightOfSystem  = "system"
	LightOfChassis = "chassis"
	LightOfDisk    = "disk"
)

// States of lights, by Ironic's names.
const (
	IndicatorOn       = "ON"
	IndicatorOff      = "OFF"
	IndicatorBlinking = "BLINKING"
	IndicatorUnknown  = "UNKNOWN"
)

// Indicator is a light of a server.
type Indicator struct {
	Component string   `json:"component"`
	Name      string   `json:"name"` // unique in its component
	State     string   `json:"state"`
	States    []string `json:"states"` // that it can be given
}

// Device types of virtual drives, by Ironic's names.
const (
	MediaCDROM  = "cdrom"
	MediaDisk   = "disk"
	MediaFloppy = "floppy"
)

// MediaDevices are the device types of virtual drives.
var MediaDevices = []string{MediaCDROM, MediaDisk, MediaFloppy}

// MediaDrive is a virtual drive as a BMC shows it.
type MediaDrive struct {
	Types    []string `json:"media_types"` // in the words of the BMC, such as CD
	Inserted bool     `json:"inserted"`
	Image    string   `json:"image"` // its URL, without what may be secret; "" = not told
}
