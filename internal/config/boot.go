package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"go.temper.dev/temper/internal/node"
)

// Boot says where servers boot the agent from CDs that Temper makes. The API and the conductors need the same.
type Boot struct {
	MediaURL     string    `key:"media_url" help:"URL at which BMCs fetch the CDs that the API makes for the boots of agents, such as http://10.0.0.5:6385; empty is that nodes have to name a deploy_iso"`
	MediaURLOf   GroupURLs `key:"media_url_groups" help:"the same for single conductor groups, as rack-7=http://10.7.0.5:6385; the default group's name here is default"`
	AgentURL     string    `key:"agent_url" help:"URL of the API for the agents that boot from these CDs; empty is media_url"`
	AgentURLOf   GroupURLs `key:"agent_url_groups" help:"the same for single conductor groups, as media_url_groups"`
	Kernel       string    `key:"deploy_kernel" help:"URL, or path of a file of the API's machine, of a kernel that boots agents, where a node names none and no deploy_iso; empty is Temper's own ramdisk"`
	Initrd       string    `key:"deploy_ramdisk" help:"the same of the initrd of deploy_kernel"`
	RescueKernel string    `key:"rescue_kernel" help:"the same as deploy_kernel for rescues; empty is deploy_kernel"`
	RescueInitrd string    `key:"rescue_ramdisk" help:"the same of the initrd of rescue_kernel"`
	Append       string    `key:"kernel_append_params" help:"words that are added to the kernel's command line on these CDs, where a node does not say it"`
}

// GroupURLs are URLs by the name of a conductor group.
type GroupURLs map[string]string

// ByGroup returns the URLs by group; "" is the default group. The error says what would be right.
func (g GroupURLs) ByGroup() (map[string]string, error) {
	out := make(map[string]string, len(g))
	for group, at := range g {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("group %s: want a URL that begins with http:// or https://", group)
		}
		if group = strings.ToLower(group); group == "default" {
			group = ""
		}
		out[group] = at
	}
	return out, nil
}

// Sites returns what the settings say by conductor group. check has accepted them.
func (c Boot) Sites() node.BootSites {
	out := node.BootSites{
		Default: node.BootSite{MediaURL: c.MediaURL, AgentURL: c.AgentURL, Append: c.Append}, Groups: map[string]node.BootSite{},
		Deploy: node.Files{Kernel: c.Kernel, Initrd: c.Initrd}, Rescue: node.Files{Kernel: c.RescueKernel, Initrd: c.RescueInitrd},
	}
	media, _ := c.MediaURLOf.ByGroup()
	agents, _ := c.AgentURLOf.ByGroup()
	for group, at := range media {
		out.Groups[group] = node.BootSite{MediaURL: at}
	}
	for group, at := range agents {
		out.Groups[group] = node.BootSite{MediaURL: out.Groups[group].MediaURL, AgentURL: at}
	}
	return out
}

// used reports whether any group boots from these CDs.
func (c Boot) used() bool { return c.MediaURL != "" || len(c.MediaURLOf) > 0 }

func (c Boot) check(p *problems) {
	for _, pair := range [][2][2]string{
		{{"deploy_kernel", c.Kernel}, {"deploy_ramdisk", c.Initrd}}, {{"rescue_kernel", c.RescueKernel}, {"rescue_ramdisk", c.RescueInitrd}},
	} {
		for i, one := range pair {
			key, value, other := one[0], one[1], pair[1-i]
			switch {
			case value == "" && other[1] != "":
				p.refuse(key, "want it, because %s is set", other[0])
			case value != "" && !filepath.IsAbs(value):
				p.requireURL(key, value, "http", "https")
			}
		}
	}
	for key, at := range map[string]string{"media_url": c.MediaURL, "agent_url": c.AgentURL} {
		if at != "" {
			p.requireURL(key, at, "http", "https")
		}
	}
	for key, of := range map[string]GroupURLs{"media_url_groups": c.MediaURLOf, "agent_url_groups": c.AgentURLOf} {
		if _, err := of.ByGroup(); err != nil {
			p.refuse(key, "%w", err)
		}
	}
}

// Agents is what the API settings say of agents: what they boot from, and where the API hears them.
type Agents struct {
	Ramdisk   string   `key:"ramdisk" help:"file of the ISO from which the CDs for boots of agents are made, which make ramdisk builds; required with media_url"`
	Listen    string   `key:"agent_listen" help:"address of a listener of its own for agents and for these CDs, in the networks of the servers; listen serves neither then; empty is that listen serves both"`
	Media     string   `key:"media_listen" help:"address of a listener that serves these CDs only, without TLS, for BMCs that take no https; empty is none"`
	Public    bool     `key:"agents_on_listen" default:"false" help:"whether listen serves agents and CDs although agent_listen does"`
	Networks  []string `key:"agent_networks" help:"networks from which agents may call; empty is all"`
	Discovery bool     `key:"discovery" default:"false" help:"whether a server that is not enrolled boots the ramdisk once, by network, and is listed with its inventory until somebody accepts it (temper discovery); its firmware must boot by network"`
	Cache     string   `key:"ramdisk_cache" help:"folder for the CDs of deploy_kernel and deploy_ramdisk, of this process alone; empty is one in the user's cache"`
	CacheGiB  int      `key:"ramdisk_cache_gib" default:"4" help:"how many GiB of them are kept"`
	IPXE      string   `key:"ipxe_dir" default:"/usr/lib/ipxe" help:"folder with undionly.kpxe and snponly.efi, which firmware loads that boots by network, as in Debian's package ipxe"`
	CA        string   `key:"agent_ca" help:"file with the authorities of the certificates of agent_url and of image servers, PEM, which these CDs carry; empty is none"`
}

func (c Agents) check(p *problems, boot Boot) {
	for key, at := range map[string]string{"agent_listen": c.Listen, "media_listen": c.Media} {
		if at != "" {
			p.requireAddress(key, at)
		}
	}
	if _, err := Networks(c.Networks); err != nil {
		p.refuse("agent_networks", "want networks or addresses, such as 10.7.0.0/16,fd00:7::/64: %w", err)
	}
	p.requireAtLeast("ramdisk_cache_gib", 1, c.CacheGiB)
	p.requireFile("ramdisk", c.Ramdisk)
	p.requireFile("agent_ca", c.CA)
	if c.Discovery && boot.AgentURL == "" && boot.MediaURL == "" {
		p.refuse("agent_url", "want the URL at which agents reach this process, because discovery is on")
	}
	if c.Discovery && c.Ramdisk == "" {
		p.refuse("ramdisk", "want the file temper-ramdisk.iso that make ramdisk builds, because discovery is on")
	}
	if boot.used() && c.Ramdisk == "" {
		p.refuse("ramdisk", "want the file temper-ramdisk.iso that make ramdisk builds, because media_url says that the API makes CDs for boots")
	}
}
