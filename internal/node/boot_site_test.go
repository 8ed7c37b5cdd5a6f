package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a server boots follows from what its node says, then from the settings; half of a pair is an error.
func TestTheRamdiskOfANode(t *testing.T) {
	type info = map[string]any
	own := Files{"http://n/k", "http://n/r"}
	sites := BootSites{Default: BootSite{MediaURL: "http://m"}, Deploy: Files{"/srv/k", "/srv/r"}}
	both := info{"deploy_kernel": "http://n/k", "deploy_ramdisk": "http://n/r"}
	for name, c := range map[string]struct {
		driver, instance info
		arch             string
		family           Family
		rescue           Files
		iso              string
		files            Files
		err              string
	}{
		"an ISO counts before all":       {driver: info{"deploy_iso": "http://n/i.iso", "deploy_kernel": "http://n/k"}, iso: "http://n/i.iso"},
		"the node's pair":                {driver: both, files: own},
		"the instance's pair":            {instance: both, files: own},
		"the settings'":                  {files: Files{"/srv/k", "/srv/r"}},
		"a rescue boots the same":        {driver: both, family: RescueFamily, files: own},
		"a rescue has its own":           {driver: info{"deploy_kernel": "http://n/a", "deploy_ramdisk": "http://n/b", "rescue_kernel": "http://n/k", "rescue_ramdisk": "http://n/r"}, family: RescueFamily, files: own},
		"the settings' of a rescue":      {family: RescueFamily, rescue: own, files: own},
		"a kernel without a ramdisk":     {driver: info{"deploy_kernel": "http://n/k"}, err: "has a deploy_kernel without a deploy_ramdisk"},
		"a ramdisk without a kernel":     {driver: info{"deploy_ramdisk": "http://n/r"}, err: "has a deploy_ramdisk without a deploy_kernel"},
		"a path is for settings only":    {driver: info{"deploy_kernel": "/etc/shadow", "deploy_ramdisk": "http://n/r"}, err: "not an http or https URL"},
		"no boot loaders for this":       {arch: "aarch64", err: "boot x86_64 only"},
		"an ISO may be for any":          {arch: "aarch64", driver: info{"deploy_iso": "http://n/i.iso"}, iso: "http://n/i.iso"},
		"the usual architecture by name": {arch: "x86_64", files: Files{"/srv/k", "/srv/r"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites
			s.Rescue = c.rescue
			n := &Node{UUID: "u", Properties: info{"cpu_arch": c.arch}, Interfaces: map[string]string{"boot": "redfish-virtual-media"}}
			family := c.family
			if family == "" {
				family = DeployFamily
			}
			r, err := s.Ramdisk(n, family, c.driver, c.instance)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.iso, r.ISO)
			require.Equal(t, c.files, r.Files)
		})
	}
}
