package config

import (
	"path/filepath"
	"time"
)

// ImageCache is what temper boot and the API keep of images that they serve to agents, and from where they may fetch them.
type ImageCache struct {
	Dir       string        `key:"image_cache" help:"folder for images that are served to agents, of this process alone; empty is one in the user's cache"`
	GiB       int           `key:"image_cache_gib" default:"40" help:"how many GiB of images are kept; those that were not used for longest go"`
	Age       time.Duration `key:"image_cache_age" default:"168h" help:"how long an image is kept that no agent reads"`
	ForceRaw  bool          `key:"force_raw_images" default:"false" help:"whether a qcow2 image is served as the raw disk in it, for agents that have no memory for the file, as the ironic-python-agent; zeros cross the network then, too"`
	Folders   []string      `key:"image_folders" help:"folders of this machine from which image_source may name images as file:///FOLDER/NAME; empty is none"`
	CloudFile string        `key:"clouds_file" help:"clouds.yaml with the credentials for images of Glance, which image_source names by their ids; empty is none"`
	Cloud     string        `key:"os_cloud" default:"openstack" help:"name of the cloud in clouds_file"`
}

func (c ImageCache) check(p *problems) {
	p.requireAtLeast("image_cache_gib", 1, c.GiB)
	if c.Age < time.Minute {
		p.refuse("image_cache_age", "want 1m or more")
	}
	for _, f := range c.Folders {
		if !filepath.IsAbs(f) {
			p.refuse("image_folders", "want absolute paths of folders, and %s is none", f)
		}
	}
	p.requireFile("clouds_file", c.CloudFile)
}
