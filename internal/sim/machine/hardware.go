// Package machine is a simulated server: its hardware, power, boot, media, settings and
// what was done to it. It has no HTTP: package redfish is its BMC's interface, and package
// ipa the agent that it boots.
package machine

import (
	"encoding/base32"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"
)

// Hardware is the hardware of a server. The rack's seed and the server's number determine
// all of it.
type Hardware struct {
	Name         string
	UUID         string
	Serial       string
	Manufacturer string
	Model        string
	PartNumber   string
	AssetTag     string
	BIOSVersion  string
	BMCVersion   string
	TPMVersion   string // firmware of the TPM 2.0
	BMCMAC       string
	CPUs         []CPU
	DIMMs        []DIMM
	Drives       []Drive // a server keeps the content of the one to which an image was written last
	NICs         []NIC
	GPUs         []GPU
	Username     string // of the account that a new BMC has
	Password     string // of that account, until somebody changes it
}

// CPU is one socket.
type CPU struct {
	Model   string
	Cores   int
	Threads int
	MHz     int
}

// DIMM is one memory module.
type DIMM struct {
	Slot   string
	MiB    int64
	Serial string
}

// Drive is one disk drive.
type Drive struct {
	Name   string // Linux's name
	Model  string
	Serial string
	Bytes  int64
	NVMe   bool
	WWN    string
	// Firmware is the version of its firmware.
	Firmware string
}

// NIC is one network port.
type NIC struct {
	Name string // Linux's name
	MAC  string
	Mbps int
	// SwitchID, SwitchPort and SwitchName are what the switch tells by LLDP.
	SwitchID   string
	SwitchPort string
	SwitchName string
}

// GPU is one graphics processor.
type GPU struct {
	Model    string
	Serial   string
	MiB      int64
	Firmware string
}

// chassis are the models of servers in a rack.
var chassis = []struct {
	model    string
	cpu      CPU
	sockets  int
	dimms    int
	dimmMiB  int64
	drive    string
	bytes    int64
	nvme     bool
	nicSpeed int
	gpus     int
}{
	{"SR-110", CPU{"Simulated 8-Core Processor", 8, 16, 2900}, 1, 4, 16 << 10, "SIM-SSD-480", 480103981056, false, 10000, 0},
	{"SR-220", CPU{"Simulated 24-Core Processor", 24, 48, 2400}, 2, 12, 32 << 10, "SIM-NVME-960", 960197124096, true, 25000, 0},
	{"SR-240", CPU{"Simulated 32-Core Processor", 32, 64, 2600}, 2, 16, 64 << 10, "SIM-NVME-1920", 1920383410176, true, 100000, 2},
}

// uuidNamespace is the namespace of the servers' uuids.
var uuidNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("rack.temper.dev"))

// NewHardware returns the hardware of server number i (from 0) of the rack with that seed.
// diskBytes replaces the drives' size if it is not 0.
func NewHardware(seed int64, i int, diskBytes int64) Hardware {
	name := fmt.Sprintf("sim-%04d", i+1)
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(i))) // reproducible by intent
	c := chassis[rng.IntN(len(chassis))]
	h := Hardware{
		Name: name, UUID: uuid.NewSHA1(uuidNamespace, fmt.Appendf(nil, "%d/%d", seed, i)).String(),
		Serial: "SIM" + randomCode(rng, 9), Manufacturer: "Simulated Systems", Model: c.model,
		PartNumber: "PN-" + c.model, AssetTag: fmt.Sprintf("ASSET-%05d", i+1), TPMVersion: "7.2.3.1",
		BIOSVersion: "2.4.1", BMCVersion: "1.12.0", BMCMAC: mac(seed, i, 0xff),
		Username: "admin", Password: randomCode(rng, 20),
	}
	for range c.sockets {
		h.CPUs = append(h.CPUs, c.cpu)
	}
	for n := range c.dimms {
		h.DIMMs = append(h.DIMMs, DIMM{Slot: fmt.Sprintf("DIMM%d", n+1), MiB: c.dimmMiB, Serial: randomCode(rng, 8)})
	}
	if diskBytes > 0 {
		c.bytes = diskBytes
	}
	for n := range 2 {
		d := Drive{
			Name: "/dev/sd" + string(rune('a'+n)), Model: c.drive, Serial: randomCode(rng, 12), Bytes: c.bytes,
			NVMe: c.nvme, Firmware: "GXT5", WWN: fmt.Sprintf("0x5%015x", rng.Uint64()>>4),
		}
		if c.nvme {
			d.Name = fmt.Sprintf("/dev/nvme%dn1", n)
		}
		h.Drives = append(h.Drives, d)
	}
	for n := range 2 {
		h.NICs = append(h.NICs, NIC{Name: fmt.Sprintf("eno%d", n+1), MAC: mac(seed, i, n), Mbps: c.nicSpeed, SwitchPort: fmt.Sprintf("Ethernet1/%d", i%48+1)})
		h.NICs[n].SwitchName = fmt.Sprintf("leaf-%d-%d", i/48+1, n+1)
		h.NICs[n].SwitchID = mac(seed, 0xff0000+i/48, n)
	}
	h.addGPUs(c.gpus)
	return h
}

// addGPUs adds GPUs until there are n.
func (h *Hardware) addGPUs(n int) {
	for len(h.GPUs) < n {
		h.GPUs = append(h.GPUs, GPU{Model: "SIM-GPU-80", Serial: fmt.Sprintf("GPU%d%s", len(h.GPUs), h.Serial), MiB: 80 << 10, Firmware: "96.00.74"})
	}
}

// MACs returns the addresses of the network ports.
func (h *Hardware) MACs() []string {
	out := make([]string, len(h.NICs))
	for i, n := range h.NICs {
		out[i] = n.MAC
	}
	return out
}

// MemoryMiB returns the size of all memory modules together.
func (h *Hardware) MemoryMiB() (sum int64) {
	for _, d := range h.DIMMs {
		sum += d.MiB
	}
	return sum
}

// mac returns a locally administered address. The second byte is from the seed, so that
// two racks seldom collide, the next three are the server's number, the last is the port.
func mac(seed int64, i, port int) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(seed), byte(i>>16), byte(i>>8), byte(i), byte(port))
}

// randomCode returns n random letters and digits.
func randomCode(rng *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.UintN(256))
	}
	return strings.ToUpper(base32.StdEncoding.EncodeToString(b)[:n])
}
