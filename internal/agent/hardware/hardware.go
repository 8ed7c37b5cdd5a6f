// Package hardware reads what the kernel tells of the machine that the agent runs on, from /sys and /proc, and the addresses of its BMC. It
// starts no program and changes nothing.
package hardware

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"go.temper.dev/temper/internal/agent"
)

// Machine is where the hardware is described.
type Machine struct {
	// Root is the folder in which sys, proc and dev are: "/", or that of a recorded machine.
	Root string
	// Addresses returns the first IPv4 and IPv6 address of a network interface, "" for none. Nil means none.
	Addresses func(name string) (v4, v6 string)
	// IPMI sends a request to the machine's BMC, and returns its completion code and what follows. Nil means that it has none.
	IPMI func(function, command byte, data ...byte) ([]byte, error)
}

// Inventory returns the hardware in the shape that Ironic's inspection hooks read. What the kernel does not tell is missing.
func (m Machine) Inventory() agent.Inventory {
	out := agent.Inventory{
		CPU: m.cpu(), Memory: m.memory(), Disks: m.Disks(), Interfaces: m.interfaces(), Boot: m.boot(), SystemVendor: m.vendor(),
		Hostname: agent.Text(m.read("proc/sys/kernel/hostname")),
	}
	m.bmc(&out)
	return out
}

// read returns the content of a file without the white space around it, "" if there is no such file.
func (m Machine) read(parts ...string) string {
	b, err := os.ReadFile(filepath.Join(append([]string{m.Root}, parts...)...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.Trim(string(b), "\x00"), ""))
}

// number returns a file's whole number, 0 if it has none.
func (m Machine) number(parts ...string) int64 {
	n, err := strconv.ParseInt(m.read(parts...), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// list returns the sorted names in a folder.
func (m Machine) list(parts ...string) []string {
	entries, err := os.ReadDir(filepath.Join(append([]string{m.Root}, parts...)...))
	if err != nil {
		return nil
	}
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Name()
	}
	return out
}

// exists reports whether there is such a file or folder.
func (m Machine) exists(parts ...string) bool {
	_, err := os.Stat(filepath.Join(append([]string{m.Root}, parts...)...))
	return err == nil
}

// link returns where a link leads, "" if there is none.
func (m Machine) link(parts ...string) string {
	to, err := os.Readlink(filepath.Join(append([]string{m.Root}, parts...)...))
	if err != nil {
		return ""
	}
	return to
}

// architectures are the kernel's names of the processors for which Go makes programs.
var architectures = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64"}

func (m Machine) cpu() agent.CPU {
	out := agent.CPU{Architecture: agent.Text(architectures[runtime.GOARCH])}
	sockets := map[string]bool{}
	for line := range strings.Lines(m.read("proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "processor":
			out.Count++
		case "physical id":
			sockets[value] = true
		case "model name":
			out.ModelName = agent.Text(value)
		case "cpu MHz":
			out.Frequency = agent.Text(value)
		case "flags", "Features":
			out.Flags = strings.Fields(value)
		}
	}
	if khz := m.number("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"); khz > 0 {
		out.Frequency = agent.Text(strconv.FormatFloat(float64(khz)/1000, 'f', 4, 64))
	}
	out.SocketCount = agent.Number(max(len(sockets), min(1, int(out.Count))))
	return out
}

func (m Machine) memory() agent.Memory {
	var out agent.Memory
	for line := range strings.Lines(m.read("proc/meminfo")) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64) // a meminfo without number is one without memory
			out.Total = agent.Number(kib << 10)
		}
	}
	out.PhysicalMB = agent.Number(modules([]byte(m.raw("sys/firmware/dmi/tables/DMI"))))
	return out
}

func (m Machine) raw(path string) string {
	b, _ := os.ReadFile(filepath.Join(m.Root, path)) // a machine without the file does not tell
	return string(b)
}

// modules returns the size of the memory modules in MiB (SMBIOS, DSP0134, structure of type 17).
func modules(table []byte) (mib int64) {
	for len(table) >= 4 && int(table[1]) >= 4 && len(table) >= int(table[1]) {
		kind, s := table[0], table[:table[1]]
		if kind == 17 && len(s) >= 0x0e {
			mib += moduleSize(s)
		}
		// Two zero bytes end the texts behind a structure.
		rest := table[len(s):]
		end := 0
		for end+1 < len(rest) && (rest[end] != 0 || rest[end+1] != 0) {
			end++
		}
		table = rest[min(end+2, len(rest)):]
		if kind == 127 {
			break
		}
	}
	return mib
}

func moduleSize(s []byte) int64 {
	size := binary.LittleEndian.Uint16(s[0x0c:])
	switch {
	case size == 0xffff: // not known
		return 0
	case size == 0x7fff && len(s) >= 0x20:
		return int64(binary.LittleEndian.Uint32(s[0x1c:]) & 0x7fffffff)
	case size&0x8000 != 0: // in KiB
		return int64(size&0x7fff) >> 10
	}
	return int64(size)
}

func (m Machine) vendor() agent.SystemVendor {
	dmi := func(name string) agent.Text { return agent.Text(m.read("sys/class/dmi/id", name)) }
	return agent.SystemVendor{
		ProductName: dmi("product_name"), SerialNumber: dmi("product_serial"), Manufacturer: dmi("sys_vendor"),
		Firmware: agent.Firmware{Vendor: dmi("bios_vendor"), Version: dmi("bios_version"), BuildDate: dmi("bios_date")},
	}
}

// boot reads BOOTIF, which pxelinux and iPXE set: the type of the network, 01, and the MAC, separated by hyphens.
func (m Machine) boot() agent.BootInfo {
	out := agent.BootInfo{Mode: "bios"}
	if m.exists("sys/firmware/efi") {
		out.Mode = "uefi"
	}
	for _, word := range strings.Fields(m.read("proc/cmdline")) {
		if mac, found := strings.CutPrefix(word, "BOOTIF="); found {
			mac = strings.ToLower(strings.ReplaceAll(mac, "-", ":"))
			if len(mac) == len("01:00:00:00:00:00:00") {
				mac = mac[3:]
			}
			out.PXEInterface = agent.Text(mac)
		}
	}
	return out
}

// interfaces returns the interfaces that have a device: no bridges, bonds or tunnels.
func (m Machine) interfaces() []agent.Interface {
	var out []agent.Interface
	for _, name := range m.list("sys/class/net") {
		dir := "sys/class/net/" + name
		mac := m.read(dir, "address")
		if !m.exists(dir, "device") || mac == "" {
			continue
		}
		i := agent.Interface{
			Name: agent.Text(name), MAC: agent.Text(mac), HasCarrier: m.read(dir, "carrier") == "1",
			Vendor: agent.Text(m.read(dir, "device/vendor")), Product: agent.Text(m.read(dir, "device/device")),
			SpeedMbps: agent.Number(max(0, m.number(dir, "speed"))), Driver: agent.Text(base(m.link(dir, "device/driver"))),
		}
		if at := base(m.link(dir, "device")); isPCI(at) {
			i.PCIAddress = agent.Text(at)
		}
		if m.Addresses != nil {
			v4, v6 := m.Addresses(name)
			i.IPv4, i.IPv6 = agent.Text(v4), agent.Text(v6)
		}
		out = append(out, i)
	}
	return out
}

func base(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Base(path)
}

// isPCI reports whether s is a PCI address, as "0000:17:00.0".
func isPCI(s string) bool {
	return len(s) >= 12 && s[len(s)-2] == '.' && strings.Count(s, ":") == 2 && !slices.ContainsFunc([]rune(s), func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdef:.", r)
	})
}
