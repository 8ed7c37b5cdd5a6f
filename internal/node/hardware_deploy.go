package node

import (
	"fmt"
	"strings"
)

// The deploy interfaces. All of them clean and service their nodes with the ramdisk agent.
var (
	// direct has the ramdisk agent fetch the image and write it to the disk.
	direct = Implementation{Name: "direct", Means: MeansAgent, WritesImage: true, RunsAgentSteps: true, DeploySteps: []StepSpec{
		{Step: StepDeploy, Priority: 100, Abortable: true, Core: true},
		{Step: StepWriteImage, Priority: 80},
		{Step: StepPrepareBoot, Priority: 60},
		{Step: StepTearDownAgent, Priority: 40},
		{Step: StepSwitchToTenantNet, Priority: 30},
		{Step: StepBootInstance, Priority: 20},
	}}
	// customAgent boots the ramdisk agent and leaves what is deployed to its steps (Ironic drivers/modules/agent.py, CustomAgentDeploy).
	customAgent = Implementation{Name: "custom-agent", Means: MeansAgent, RunsAgentSteps: true, DeploySteps: []StepSpec{
		{Step: StepDeploy, Priority: 100, Abortable: true, Core: true},
		{Step: StepTearDownAgent, Priority: 40},
		{Step: StepSwitchToTenantNet, Priority: 30},
		{Step: StepBootInstance, Priority: 20},
	}}
	// ramdisk boots the ISO image of the instance and leaves the disks as they are (Ironic drivers/modules/ramdisk.py).
	ramdisk = Implementation{
		Name: "ramdisk", Means: MeansAgent, BootsISO: true, RunsAgentSteps: true,
		DeploySteps: []StepSpec{{Step: StepSwitchToTenantNet, Priority: 30, NoRamdisk: true}, {Step: StepBootInstance, Priority: 20, NoRamdisk: true}},
		Properties:  []Property{forcePersistentBoot},
	}
	// autodetect is ramdisk for an instance that names an ISO image to boot, else direct (Ironic drivers/modules/autodetect.py).
	autodetect = Implementation{Name: "autodetect", Choose: func(n *Node) string {
		if iso, _ := n.InstanceInfo[BootISO].(string); iso != "" {
			return ramdisk.Name
		}
		return direct.Name
	}}
)

// BootISO is the key of instance_info with the URL of the ISO image that a deploy interface boots which BootsISO.
const BootISO = "boot_iso"

// forcePersistentBoot is a property of the deploy interfaces that boot an ISO image.
var forcePersistentBoot = Property{
	Name: "force_persistent_boot_device", Check: func(v any) error { _, err := parsePersistence(v); return err },
	About: "Whether the server boots its boot_iso at every boot (Always, and Default) or once (Never). Other deploy interfaces boot the disk in the order that the firmware has.",
}

// parsePersistence reads a value of forcePersistentBoot.
func parsePersistence(v any) (persistent bool, err error) {
	switch s := strings.ToLower(fmt.Sprint(v)); {
	case v == nil, s == "default", s == "always", s == "true":
		return true, nil
	case s == "never", s == "false":
		return false, nil
	}
	return false, fmt.Errorf("%s must be Default, Always or Never", "force_persistent_boot_device")
}

// BootsPersistently reports whether a server that boots an ISO image boots it again at its next boots.
func (n *Node) BootsPersistently() bool {
	persistent, err := parsePersistence(n.DriverInfo[forcePersistentBoot.Name])
	return persistent || err != nil
}

// InstanceISO returns the URL of the ISO image that the instance of n boots, from instanceInfo, which has n's secrets in the clear if
// the caller has them; "" = it boots from disk.
func (n *Node) InstanceISO(instanceInfo map[string]any) string {
	if !n.Implementation("deploy").BootsISO {
		return ""
	}
	iso, _ := instanceInfo[BootISO].(string)
	return iso
}

// CheckInstanceISO returns an error if n's deploy interface boots an ISO image and n names none that its boot interface can boot.
func (n *Node) CheckInstanceISO() error {
	iso := n.InstanceISO(n.InstanceInfo)
	switch {
	case iso == "":
		return fmt.Errorf("node %s has no instance_info/%s, the http or https URL of the ISO image that the deploy interface %s boots", n.UUID, BootISO, n.Interfaces["deploy"])
	case !isWebURL(iso):
		return fmt.Errorf("instance_info/%s of node %s is not an http or https URL", BootISO, n.UUID)
	case n.Implementation("boot").Boot != BootFake && !n.BootsFromImage():
		return fmt.Errorf("the boot interface %s of node %s boots no ISO image, as the deploy interface %s needs: choose one that does, such as redfish-virtual-media", n.Interfaces["boot"], n.UUID, n.Interfaces["deploy"])
	}
	return nil
}
