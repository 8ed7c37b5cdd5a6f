package node

import "time"

// Discovery is a server that is not enrolled, as the agent found it that it booted.
type Discovery struct {
	UUID                          string
	MACs                          []string // of its network interfaces, in lower case
	BootMAC                       string   // from which it booted, "" = not known
	Manufacturer, Product, Serial string   // as its firmware tells them, "" = it does not
	BMCAddress                    string   // "" = the agent found none
	Arch                          string   // Ironic's cpu_arch, "x86_64"
	BootMode                      string   // uefi or bios, "" = not known
	CPUs                          int64
	MemoryMB                      int64
	DiskGB                        int64  // of the smallest disk, on which an image would be written without root device hints
	Source                        string // address from which the agent called
	FoundAt, LastAt               time.Time
	Times                         int64          // how often its agent called
	Inventory                     map[string]any // as the agent sent it; nil in lists
}

// Limits of discoveries: the agents of strangers can't be told from those of new servers.
const (
	MaxDiscoveries        = 10_000
	MaxDiscoveryInventory = 256 << 10 // bytes
)
