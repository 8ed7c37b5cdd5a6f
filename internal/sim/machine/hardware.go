// Package machine is one simulated server: its hardware, power, boot, media,
// settings and what was done to it. It never speaks HTTP; package redfish shows
// it to BMC clients, package ipa is what runs on it.
package machine

import (
	"encoding/base32"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/uuid"
)

// Hardware is what a server is made of. It follows from the rack's seed and the
// server's number alone.
type Hardware struct {
	Name         string
	UUID         string
	Serial       string
	Manufacturer string
	Model        string
	BIOSVersion  string
	BMCVersion   string
	BMCMAC       string
	CPUs         []CPU
	DIMMs        []DIMM
	Drives       []Drive // the first is the one images are written to
	NICs         []NIC
	Username     string // of the BMC's only account
	Password     string
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
	Name   string // as Linux names it
	Model  string
	Serial string
	Bytes  int64
	NVMe   bool
	WWN    string
}

// NIC is one network port.
type NIC struct {
	Name string // as Linux names it
	MAC  string
	Mbps int
}

// chassis are the models a rack is built of.
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
}{
	{"SR-110", CPU{"Simulated 8-Core Processor", 8, 16, 2900}, 1, 4, 16 << 10, "SIM-SSD-480", 480103981056, false, 10000},
	{"SR-220", CPU{"Simulated 24-Core Processor", 24, 48, 2400}, 2, 12, 32 << 10, "SIM-NVME-960", 960197124096, true, 25000},
	{"SR-240", CPU{"Simulated 32-Core Processor", 32, 64, 2600}, 2, 16, 64 << 10, "SIM-NVME-1920", 1920383410176, true, 100000},
}

// space is the namespace of the servers' uuids.
var space = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("rack.temper.dev"))

// NewHardware builds server number i (from 0) of the rack with that seed.
// diskBytes replaces the drives' size where it is not 0.
func NewHardware(seed int64, i int, diskBytes int64) Hardware {
	name := fmt.Sprintf("sim-%04d", i+1)
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(i))) // reproducible by intent
	c := chassis[rng.IntN(len(chassis))]
	h := Hardware{
		Name: name, UUID: uuid.NewSHA1(space, fmt.Appendf(nil, "%d/%d", seed, i)).String(),
		Serial: "SIM" + code(rng, 9), Manufacturer: "Simulated Systems", Model: c.model,
		BIOSVersion: "2.4.1", BMCVersion: "1.12.0", BMCMAC: mac(seed, i, 0xff),
		Username: "admin", Password: code(rng, 20),
	}
	for range c.sockets {
		h.CPUs = append(h.CPUs, c.cpu)
	}
	for n := range c.dimms {
		h.DIMMs = append(h.DIMMs, DIMM{Slot: fmt.Sprintf("DIMM%d", n+1), MiB: c.dimmMiB, Serial: code(rng, 8)})
	}
	if diskBytes > 0 {
		c.bytes = diskBytes
	}
	for n := range 2 {
		d := Drive{
			Name: "/dev/sd" + string(rune('a'+n)), Model: c.drive, Serial: code(rng, 12), Bytes: c.bytes,
			NVMe: c.nvme, WWN: fmt.Sprintf("0x5%015x", rng.Uint64()>>4),
		}
		if c.nvme {
			d.Name = fmt.Sprintf("/dev/nvme%dn1", n)
		}
		h.Drives = append(h.Drives, d)
	}
	for n := range 2 {
		h.NICs = append(h.NICs, NIC{Name: fmt.Sprintf("eno%d", n+1), MAC: mac(seed, i, n), Mbps: c.nicSpeed})
	}
	return h
}

// MACs are the addresses of the network ports.
func (h *Hardware) MACs() []string {
	out := make([]string, len(h.NICs))
	for i, n := range h.NICs {
		out[i] = n.MAC
	}
	return out
}

// MemoryMiB is the sum of all modules.
func (h *Hardware) MemoryMiB() (sum int64) {
	for _, d := range h.DIMMs {
		sum += d.MiB
	}
	return sum
}

// mac is locally administered and unique within a rack: the second byte tells
// racks of different seeds apart, three bytes count servers, the last ports.
func mac(seed int64, i, port int) string {
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(seed), byte(i>>16), byte(i>>8), byte(i), byte(port))
}

// code is n random letters and digits.
func code(rng *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.UintN(256))
	}
	return strings.ToUpper(base32.StdEncoding.EncodeToString(b)[:n])
}
