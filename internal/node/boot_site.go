package node

import (
	"net/url"
	"strings"

	"go.temper.dev/temper/internal/fault"
)

// BootSite is where servers boot the agent from CDs that Temper makes.
type BootSite struct {
	MediaURL string // below which BMCs fetch the CDs; "" = there are none
	AgentURL string // of the API for the agents
	Append   string // what is added to the kernel's command line, where a node says nothing else
}

// BootSites are the sites by conductor group.
type BootSites struct {
	Default BootSite
	Groups  map[string]BootSite // by names in lower case; what is empty in one is that of Default
	Deploy  Files               // of the agent, where a node says nothing else
	Rescue  Files               // of a rescue; empty = Deploy
}

// Of returns the site of n's group, with what n says itself. driverInfo and instanceInfo are those of n, with their secrets in the
// clear if the caller has them.
func (s BootSites) Of(n *Node, driverInfo, instanceInfo map[string]any) BootSite {
	site, group := s.Default, s.Groups[strings.ToLower(n.ConductorGroup)]
	if group.MediaURL != "" {
		site.MediaURL = group.MediaURL
	}
	if group.AgentURL != "" {
		site.AgentURL = group.AgentURL
	}
	if own, _ := driverInfo[externalHTTPURL.Name].(string); own != "" && site.MediaURL != "" {
		site.MediaURL = own
	}
	if site.AgentURL == "" {
		site.AgentURL = site.MediaURL
	}
	for _, info := range []map[string]any{driverInfo, instanceInfo} { // the instance's counts before the node's
		if own, ok := info[kernelAppend.Name].(string); ok {
			site.Append = strings.ReplaceAll(own, "%default%", s.Default.Append)
		}
	}
	return site
}

// Discovery is what a server boots by network that is not enrolled: the agent of the site without groups, which sends its inventory.
func (s BootSites) Discovery() Medium {
	api := s.Default.AgentURL
	if api == "" {
		api = s.Default.MediaURL
	}
	api = strings.TrimRight(api, "/")
	return Medium{
		Network: true, Kernel: s.Deploy.Kernel, Initrd: s.Deploy.Initrd, APIURLs: []string{api}, InspectionURL: api + "/v1/continue_inspection", Append: s.Default.Append,
	}
}

// Files are those of a ramdisk.
type Files struct {
	Kernel, Initrd string // URLs, or absolute paths in settings; both are "" for Temper's own ramdisk
}

// Ramdisk is from what a server boots its agent.
type Ramdisk struct {
	ISO   string   // URL of an image that the node names; "" = Temper serves what it boots
	Site  BootSite // where, if ISO is ""
	Files Files    // of what, if ISO is ""
}

// Ramdisk returns from what an operation of family f boots the agent on n: the ISO that the node names or else a CD that Temper
// makes, of the kernel and the initrd that the node or a setting names, or of Temper's own. The error is fault.Invalid if there is
// neither, or what the node names can't be used.
func (s BootSites) Ramdisk(n *Node, f Family, driverInfo, instanceInfo map[string]any) (Ramdisk, error) {
	if n.BootsByNetwork() {
		return s.byNetwork(n, f, driverInfo, instanceInfo)
	}
	iso, err := agentISO(n, f, driverInfo, instanceInfo)
	if err != nil || iso != "" {
		return Ramdisk{ISO: iso}, err
	}
	site := s.Of(n, driverInfo, instanceInfo)
	if site.MediaURL == "" {
		return Ramdisk{}, fault.New(fault.Invalid, "node %s has no driver_info/%s, and the setting media_url, with which Temper makes the image itself, is not set: the boot interface %s boots the agent from one of them",
			n.UUID, deployISO.Name, n.Interfaces["boot"])
	}
	if arch, _ := n.Properties["cpu_arch"].(string); arch != "" && arch != "x86_64" && arch != "amd64" {
		return Ramdisk{}, fault.New(fault.Invalid, "node %s has the cpu_arch %s, and the CDs that Temper makes boot x86_64 only: give it a %s", n.UUID, arch, deployISO.Name)
	}
	files, err := s.files(n, f, driverInfo, instanceInfo)
	return Ramdisk{Site: site, Files: files}, err
}

// byNetwork is Ramdisk of a node that boots by network: no CD is made, and the node can't name one.
func (s BootSites) byNetwork(n *Node, f Family, driverInfo, instanceInfo map[string]any) (Ramdisk, error) {
	site := s.Of(n, driverInfo, instanceInfo)
	if site.AgentURL == "" {
		return Ramdisk{}, fault.New(fault.Invalid, "the setting agent_url, at which agents reach Temper, is not set: the boot interface %s of node %s needs it",
			n.Interfaces["boot"], n.UUID)
	}
	if arch, _ := n.Properties["cpu_arch"].(string); arch != "" && arch != "x86_64" && arch != "amd64" {
		return Ramdisk{}, fault.New(fault.Invalid, "node %s has the cpu_arch %s, and Temper boots x86_64 only by network", n.UUID, arch)
	}
	files, err := s.files(n, f, driverInfo, instanceInfo)
	return Ramdisk{Site: site, Files: files}, err
}

// BootsByNetwork reports whether n boots its agent from the network.
func (n *Node) BootsByNetwork() bool {
	switch n.Implementation("boot").Boot {
	case BootNetwork, BootHTTP:
		return true
	}
	return false
}

// BootsFromImage reports whether n boots its agent from an ISO image, whose URL its BMC gets.
func (n *Node) BootsFromImage() bool {
	switch n.Implementation("boot").Boot {
	case BootVirtualMedia, BootHTTPImage:
		return true
	}
	return false
}

// files returns the kernel and the initrd for n.
func (s BootSites) files(n *Node, f Family, driverInfo, instanceInfo map[string]any) (Files, error) {
	pairs := [][2]Property{{deployKernel, deployRamdisk}}
	if f == RescueFamily {
		pairs = [][2]Property{{rescueKernel, rescueRamdisk}, {deployKernel, deployRamdisk}}
	}
	for _, p := range pairs {
		for _, from := range []map[string]any{driverInfo, instanceInfo} {
			kernel, _ := from[p[0].Name].(string)
			initrd, _ := from[p[1].Name].(string)
			switch {
			case kernel == "" && initrd == "":
				continue
			case kernel == "":
				return Files{}, fault.New(fault.Invalid, "node %s has a %s without a %s", n.UUID, p[1].Name, p[0].Name)
			case initrd == "":
				return Files{}, fault.New(fault.Invalid, "node %s has a %s without a %s", n.UUID, p[0].Name, p[1].Name)
			case !isWebURL(kernel) || !isWebURL(initrd):
				return Files{}, fault.New(fault.Invalid, "%s or %s of node %s is not an http or https URL", p[0].Name, p[1].Name, n.UUID)
			}
			return Files{kernel, initrd}, nil
		}
	}
	if f == RescueFamily && s.Rescue != (Files{}) {
		return s.Rescue, nil
	}
	return s.Deploy, nil
}

// agentISO returns the URL of the image that n names for the agent: that in driver_info or else that in instance_info; "" = none.
func agentISO(n *Node, f Family, driverInfo, instanceInfo map[string]any) (string, error) {
	names := []string{deployISO.Name}
	if f == RescueFamily {
		names = []string{rescueISO.Name, deployISO.Name}
	}
	for _, name := range names {
		for _, from := range []map[string]any{driverInfo, instanceInfo} {
			iso, ok := from[name].(string)
			if !ok || iso == "" {
				continue
			}
			if !isWebURL(iso) {
				return "", fault.New(fault.Invalid, "%s of node %s is not an http or https URL", name, n.UUID)
			}
			return iso, nil
		}
	}
	return "", nil
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
