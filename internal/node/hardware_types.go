package node

import "fmt"

// hardware are the hardware types. A new one is an entry here, its driver in a folder
// below internal/bmc, and the line in worker/hardware.go that makes the driver
// (CONTRIBUTING.md).
var hardware = []HardwareType{
	redfishType("redfish", "", "Servers whose BMC speaks Redfish. The ramdisk agent is booted from the BMC's virtual media."),
	redfishType("idrac", "idrac-", "Dell's servers whose iDRAC speaks Redfish, under the names that Ironic has for them. All is done as by the driver redfish."),
	{
		Name: "ipmi", Probed: true, ProbeFlag: "--ipmi",
		About: "Servers whose BMC speaks IPMI 2.0 (RMCP+ over UDP). The ramdisk agent is booted by network.",
		Properties: []Property{
			{Name: "ipmi_address", Required: true, Decides: true, Check: check(ParseIPMIAddress), About: "IP address or host name of the BMC. Required."},
			{Name: "ipmi_port", ProbeFlag: "--port {value}", Decides: true, Check: check(ParseIPMIPort), About: "UDP port of the BMC. Default 623."},
			{Name: "ipmi_username", About: "Account on the BMC, at most 16 bytes. Default: the anonymous account."},
			{Name: "ipmi_password", About: "Password of the account, at most 20 bytes. It is never sent: the protocol proves that both sides know it."},
			{Name: "ipmi_hex_kg_key", ProbeFlag: "--driver-info ipmi_hex_kg_key=KEY", About: "Key K_G of a BMC that needs one, 40 hexadecimal digits."},
			{Name: "ipmi_priv_level", ProbeFlag: "--driver-info ipmi_priv_level={value}", About: "Privilege level of the session: ADMINISTRATOR (default), OPERATOR, USER or CALLBACK. Switching the power needs OPERATOR."},
			{Name: "ipmi_cipher_suite", ProbeFlag: "--driver-info ipmi_cipher_suite={value}", Decides: true, About: "17 (SHA-256) or 3 (SHA-1), both with AES-128. Default: 17, then 3 where the BMC lacks 17."},
			{Name: "ipmi_protocol_version", Decides: true, About: "2.0, which is the default and the only one: IPMI 1.5 encrypts nothing."},
			{Name: "ipmi_bridging", ProbeFlag: "--driver-info ipmi_bridging={value}", About: "Commands are for a controller behind the BMC: single or dual (over two buses); no (default) means the BMC itself."},
			{Name: "ipmi_target_channel", ProbeFlag: "--driver-info ipmi_target_channel={value}", About: "With ipmi_bridging: channel of the controller's bus, 0 to 15."},
			{Name: "ipmi_target_address", ProbeFlag: "--driver-info ipmi_target_address={value}", About: "With ipmi_bridging: address of the controller on that bus, for example 0x72."},
			{Name: "ipmi_transit_channel", ProbeFlag: "--driver-info ipmi_transit_channel={value}", About: "With ipmi_bridging dual: channel of the first bus."},
			{Name: "ipmi_transit_address", ProbeFlag: "--driver-info ipmi_transit_address={value}", About: "With ipmi_bridging dual: address of the controller on the first bus that leads to the second."},
			{Name: "ipmi_local_address", ProbeFlag: "--driver-info ipmi_local_address={value}", About: "With ipmi_bridging: address of the BMC on the bus. Default 0x20."},
			{Name: "ipmi_disable_boot_timeout", About: "true (default) tells the BMC to keep a boot device longer than 60 seconds, where it can."},
			{Name: "ipmi_force_boot_device", About: "false, which is the default and the only one: Temper keeps no boot device of a node that it could set again at each power on. Its steps set the boot device right before they need it."},
			requestTimeout,
		},
		Implementations: map[string][]Implementation{
			"bios":       {no("bios")},
			"boot":       {byNetwork("ipxe"), byNetwork("pxe"), noBoot},
			"console":    {ipmitoolSocat, no("console")},
			"deploy":     {direct, ramdisk, customAgent, autodetect},
			"firmware":   {no("firmware")},
			"inspect":    {no("inspect"), byAgent},
			"management": {{Name: "ipmitool", Means: MeansBMC, NMI: true}},
			"network":    {noop},
			"power":      {{Name: "ipmitool", Means: MeansBMC}},
			"raid":       {no("raid"), raidBy("agent", MeansAgent, false)},
			"rescue":     {no("rescue"), byAgent},
			"storage":    {noop},
			"vendor":     {{Name: "ipmitool", Means: MeansBMC, Methods: ipmiMethods}, no("vendor")},
		},
	},
	{
		Name: "fake-hardware",
		About: "Nodes without hardware, to try things out. Each interface takes the time that the section fake of the settings says. " +
			"With the deploy interface direct or the inspect interface agent the node waits for an agent that somebody else plays.",
		Implementations: map[string][]Implementation{
			"bios":       {fakeBIOS, no("bios")},
			"boot":       {{Name: "fake", Means: MeansFake, Boot: BootFake}},
			"console":    {pretends, no("console")},
			"deploy":     {fakeDeploy, direct, ramdisk, customAgent, autodetect},
			"firmware":   {fakeFirmware, no("firmware")},
			"inspect":    {pretends, byAgent, no("inspect")},
			"management": {{Name: "fake", Means: MeansFake, Requests: []OperationKind{KindBootMode, KindSecureBoot, KindAttachMedia, KindDetachMedia}}, noop},
			"network":    {noop},
			"power":      {pretends},
			"raid":       {fakeRAID, no("raid")},
			"rescue":     {pretends, byAgent, no("rescue")},
			"storage":    {noop, pretends},
			"vendor":     {fakeVendor, no("vendor")},
		},
	},
}

// redfishType is a hardware type whose BMC speaks Redfish. The names of its implementations begin with prefix: Ironic's vendors have such.
func redfishType(name, prefix, about string) HardwareType {
	return HardwareType{
		Name: name, Probed: true, About: about,
		Properties: []Property{
			{Name: "redfish_address", Required: true, Decides: true, Check: check(ParseRedfishAddress), About: "URL or host of the BMC, for example https://bmc.example.org; https where no scheme is given. An IPv6 address needs brackets. Required."},
			{Name: "redfish_system_id", ProbeFlag: "--system {value}", Check: check(ParseRedfishSystem), About: "Path of the system on the BMC, for example /redfish/v1/Systems/1. Optional where the BMC has one system only."},
			{Name: "redfish_username", About: "Account on the BMC. Without it nothing is authenticated."},
			{Name: "redfish_password", About: "Password of the account."},
			{Name: "redfish_verify_ca", ProbeFlag: "--verify-ca {value}", Decides: true, About: "true (default) verifies the BMC's certificate against the system's CAs; PEM text, or the name of a PEM file in the folder that the setting bmc_ca_dir of the API and the conductors names, verifies it against that CA; false accepts any certificate."},
			{Name: "redfish_auth_type", ProbeFlag: "--auth-type {value}", Decides: true, About: "auto (default: session, basic where the BMC has no sessions), session or basic."},
			requestTimeout,
		},
		Implementations: map[string][]Implementation{
			"bios":       {biosOfRedfish(prefix+"redfish").also(prefix, "redfish"), no("bios")},
			"boot":       {fromImage(prefix+"redfish-virtual-media", BootVirtualMedia), byNetwork("ipxe"), byNetwork("pxe"), byHTTP("http-ipxe"), byHTTP("http"), fromImage("redfish-https", BootHTTPImage)},
			"console":    {no("console"), serialOfRedfish},
			"deploy":     {direct, ramdisk, customAgent, autodetect},
			"firmware":   {firmwareOfRedfish, no("firmware")},
			"inspect":    {{Name: prefix + "redfish", Means: MeansBMC}, byAgent, no("inspect")},
			"management": {{Name: prefix + "redfish", Means: MeansBMC, NMI: true, Requests: []OperationKind{KindBootMode, KindSecureBoot, KindIndicator, KindAttachMedia, KindDetachMedia}, User: "redfish_username", Password: "redfish_password", CleanSteps: []StepSpec{setsClock}, ServiceSteps: []StepSpec{setsClock}}},
			"network":    {noop},
			"power":      {{Name: prefix + "redfish", Means: MeansBMC}},
			"raid":       {raidBy(prefix+"redfish", MeansBMC, false).also(prefix, "redfish"), no("raid"), raidBy("agent", MeansAgent, false)},
			"rescue":     {no("rescue"), byAgent},
			"storage":    {noop},
			"vendor":     {{Name: prefix + "redfish", Means: MeansBMC, Methods: redfishMethods}, no("vendor")},
		},
	}
}

// also gives an implementation whose name begins with a vendor's prefix the name that it has without, too.
func (i Implementation) also(prefix, name string) Implementation {
	if prefix != "" {
		i.Aliases = []string{name}
	}
	return i
}

// requestTimeout is a property of drivers that learn how long answers have to be awaited.
var requestTimeout = Property{
	Name: "bmc_request_timeout", About: "For how many seconds Temper waits for each answer of this BMC, from 1 to 60. Default: as long as it learns from the answers.",
}

// Implementations that several hardware types may have.
var (
	// byAgent has the ramdisk agent do the work: tell what hardware it finds, or become a system in which a person can log in.
	byAgent  = Implementation{Name: "agent", Means: MeansAgent}
	noop     = Implementation{Name: "noop", Means: MeansNoop}
	pretends = Implementation{Name: "fake", Means: MeansFake}
)

// no is an implementation that exists to say no.
func no(iface string) Implementation { return Implementation{Name: "no-" + iface, Means: MeansNone} }

// noBoot is the boot interface of servers that can't be made to boot the ramdisk agent.
var noBoot = Implementation{
	Name: "no-boot", Means: MeansNone,
	Because: "It boots no ramdisk agent: choose ipxe, which boots it by network.",
}

// fromImage is a boot interface that boots the ramdisk agent from an ISO image.
func fromImage(name string, method BootMethod) Implementation {
	return Implementation{Name: name, Means: MeansBMC, Boot: method, Properties: []Property{
		deployISO, rescueISO, deployKernel, deployRamdisk, rescueKernel, rescueRamdisk, externalHTTPURL, kernelAppend,
	}}
}

// byNetwork is a boot interface that boots the ramdisk agent from the network: the firmware or DHCP brings the server to iPXE. Ironic's
// ipxe and pxe differ in the boot loader; here both are iPXE.
func byNetwork(name string) Implementation {
	return Implementation{
		Name: name, Means: MeansBMC, Boot: BootNetwork,
		Properties: []Property{deployKernel, deployRamdisk, rescueKernel, rescueRamdisk, kernelAppend},
	}
}

// byHTTP is byNetwork for UEFI, which loads iPXE by HTTP and not by TFTP.
func byHTTP(name string) Implementation {
	i := byNetwork(name)
	i.Boot = BootHTTP
	return i
}

// ipmitoolSocat gives the serial console (Serial over LAN) to a client of a TCP port. Ironic runs ipmitool and socat for that.
var ipmitoolSocat = Implementation{
	Name: "ipmitool-socat", Means: MeansBMC, Console: ConsoleSocat, ConsolePort: "ipmi_terminal_port", Properties: []Property{{
		Name: "ipmi_terminal_port", About: "TCP port of the serial console at the conductor that holds it. Default: a free one of its setting console.port_range.",
	}},
}

// serialOfRedfish is the console of servers whose BMC speaks Redfish, and IPMI beside it.
var serialOfRedfish = func() Implementation {
	i := ipmitoolSocat
	i.Properties = append([]Property{
		{Name: "ipmi_address", Check: check(ParseIPMIAddress), About: "IP address or host name at which the BMC speaks IPMI. Default: the host of redfish_address."},
		{Name: "ipmi_port", Check: check(ParseIPMIPort), About: "UDP port of IPMI. Default 623."},
		{Name: "ipmi_username", About: "Account for IPMI. Default: redfish_username."},
		{Name: "ipmi_password", About: "Password of that account. Default: redfish_password."},
		{Name: "ipmi_hex_kg_key", About: "Key K_G of a BMC that needs one, 40 hexadecimal digits."},
		{Name: "ipmi_cipher_suite", About: "17 or 3. Default: 17, then 3 where the BMC lacks 17."},
	}, i.Properties...)
	return i
}()

// Fake implementations that offer steps.
var (
	fakeDeploy = Implementation{
		Name: "fake", Means: MeansFake,
		DeploySteps: []StepSpec{
			{Step: StepDeploy, Priority: 100, Abortable: true, Core: true, NoRamdisk: true},
			{Step: StepBootInstance, Priority: 20, NoRamdisk: true},
		},
		CleanSteps: []StepSpec{
			{Step: "erase_devices", Abortable: true, NoRamdisk: true},
			{Step: "erase_devices_metadata", Abortable: true, NoRamdisk: true},
		},
	}

	// fakeVendor has the properties that Ironic's has. Nothing reads them.
	fakeVendor = Implementation{Name: "fake", Means: MeansFake, Properties: []Property{
		{Name: "B1", About: "B1 description. Required."}, {Name: "B2", About: "B2 description. Required."},
	}}

	fakeBIOSSteps = []StepSpec{
		{Step: "apply_configuration", NoRamdisk: true, Args: map[string]ArgSpec{
			"settings": {Required: true, Description: "BIOS settings to be applied, a list of name and value"},
		}},
		{Step: "factory_reset", NoRamdisk: true},
	}
	fakeBIOS = Implementation{Name: "fake", Means: MeansFake, DeploySteps: fakeBIOSSteps, CleanSteps: fakeBIOSSteps, ServiceSteps: fakeBIOSSteps}

	fakeFirmwareSteps = []StepSpec{{Step: "update", NoRamdisk: true, Args: map[string]ArgSpec{
		"settings": {Required: true, Secret: true, Description: "Firmware to be updated, a list of component and url"},
	}}}
	fakeFirmware = Implementation{Name: "fake", Means: MeansFake, DeploySteps: fakeFirmwareSteps, CleanSteps: fakeFirmwareSteps, ServiceSteps: fakeFirmwareSteps}

	fakeRAID = raidBy("fake", MeansFake, true)
)

// raidBy is an implementation of the interface raid. Ironic's redfish needs the ramdisk, because many controllers make volumes only while
// the server is on.
func raidBy(name string, means Means, noRamdisk bool) Implementation {
	existing := ArgSpec{Description: "Whether to delete the configuration that is there. Default: false", Check: checkFlag}
	root := ArgSpec{Description: "Whether to create the root volume. Default: true", Check: checkFlag}
	nonroot := ArgSpec{Description: "Whether to create the other volumes. Default: true", Check: checkFlag}
	remove := StepSpec{Step: "delete_configuration", NoRamdisk: noRamdisk}
	return Implementation{
		Name: name, Means: means, LogicalDisk: logicalDisk,
		DeploySteps: []StepSpec{
			{Step: "apply_configuration", NoRamdisk: noRamdisk, Args: map[string]ArgSpec{
				ArgRAIDConfig: {Required: true, Description: "The RAID configuration to apply", Check: checkedBy(means.logicalDisks)}, ArgDeleteExisting: existing,
				ArgCreateRoot: root, ArgCreateNonroot: nonroot,
			}},
			remove,
		},
		CleanSteps: []StepSpec{
			{Step: "create_configuration", NoRamdisk: noRamdisk, Args: map[string]ArgSpec{
				ArgCreateRoot: root, ArgCreateNonroot: nonroot, ArgDeleteExisting: existing,
			}},
			remove,
		},
	}
}

// deployISO is of every boot interface that boots from virtual media.
var deployISO = Property{
	Name:  "deploy_iso",
	About: "http or https URL of the ISO image that boots the ramdisk agent, here or in instance_info. Default: a CD that Temper makes for each boot, if the setting media_url says where BMCs fetch it.",
}

// rescueISO is of the same boot interfaces.
var rescueISO = Property{
	Name:  "rescue_iso",
	About: "http or https URL of the ISO image that boots the ramdisk agent of a rescue, here or in instance_info. Default: deploy_iso.",
}

// kernelProperty is the property of a kernel or a ramdisk, of the same boot interfaces.
func kernelProperty(name, about string) Property {
	return Property{Name: name, Check: checkWebURL(name), About: about}
}

// These are pairs: one without the other is refused.
var (
	deployKernel  = kernelProperty("deploy_kernel", "http or https URL of a kernel that boots the agent, here or in instance_info, where deploy_iso is not set: the API makes the CD of it and deploy_ramdisk. Default: the setting deploy_kernel, and without that Temper's own ramdisk.")
	deployRamdisk = kernelProperty("deploy_ramdisk", "http or https URL of the initrd of deploy_kernel.")
	rescueKernel  = kernelProperty("rescue_kernel", "The same as deploy_kernel for a rescue. Default: deploy_kernel.")
	rescueRamdisk = kernelProperty("rescue_ramdisk", "http or https URL of the initrd of rescue_kernel.")
)

// externalHTTPURL is of the same boot interfaces.
var externalHTTPURL = Property{
	Name: "external_http_url", Check: checkWebURL("external_http_url"),
	About: "http or https URL at which this BMC reaches the CDs that Temper makes, where that is another one than the setting media_url.",
}

// kernelAppend is of the same boot interfaces.
var kernelAppend = Property{
	Name:  "kernel_append_params",
	About: "Words that are added to the kernel's command line on the CDs that Temper makes, here or in instance_info; %default% is the setting kernel_append_params. Default: that setting.",
}

// checkWebURL returns a Property.Check for URLs.
func checkWebURL(name string) func(any) error {
	return func(v any) error {
		s, ok := v.(string)
		if v == nil || ok && (s == "" || isWebURL(s)) {
			return nil
		}
		return fmt.Errorf("%s must be an http or https URL", name)
	}
}
