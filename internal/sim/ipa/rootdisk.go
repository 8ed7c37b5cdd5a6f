package ipa

import (
	"strings"

	"go.temper.dev/temper/internal/agent"
	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/rootdevice"
)

// rootDisk returns the name of the drive on which an image is written: the first that satisfies the node's root device hints. Without
// hints it is the first drive whatever its size, because all have the same one, and a rack may have small ones. The texts are the real
// agent's (hardware.py, get_os_install_device).
func (a *Agent) rootDisk() (string, error) {
	a.mu.Lock()
	hints, err := rootdevice.Parse(a.hints)
	a.mu.Unlock()
	drives := candidates(a.inventory().Disks)
	switch {
	case err != nil:
		return "", failure.NoDevice("No devices could be found using the root device hints: %s", err)
	case hints.Empty():
		return drives[0].Name, nil
	}
	if disk, found, _ := hints.Choose(drives); found {
		return disk.Name, nil
	}
	return "", failure.NoDevice("No suitable device was found for deployment using these hints: %s", hints)
}

// candidates returns disks as package rootdevice compares them. The agent that runs on the server knows every fact of them.
func candidates(disks []agent.Disk) (out []rootdevice.Disk) {
	for _, d := range disks {
		rotational, transport := "false", "sas"
		if d.Rotational {
			rotational = "true"
		}
		if strings.Contains(string(d.Name), "nvme") {
			transport = "nvme"
		}
		out = append(out, rootdevice.Disk{Name: string(d.Name), Size: int64(d.Size), Aliases: []string{string(d.ByPath)}, Facts: map[string]string{
			"model": string(d.Model), "vendor": string(d.Vendor), "serial": string(d.Serial), "wwn": string(d.WWN),
			"wwn_with_extension": string(d.WWNWithExtension), "wwn_vendor_extension": string(d.WWNVendorExtension),
			"rotational": rotational, "hctl": string(d.HCTL), "by_path": string(d.ByPath), "tran": transport,
		}})
	}
	return out
}
