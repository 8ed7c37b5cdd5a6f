// Package qemu makes the servers of a rack virtual machines: QEMU's, with UEFI or a BIOS, that boot what their BMCs insert or what is
// on their disks. Each time a machine is switched on it is a new process, so that the end of the process is that of the power.
package qemu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"go.uber.org/zap"

	"go.temper.dev/temper/internal/sim/machine"
)

// Config says what the machines are.
type Config struct {
	Dir string // of their disks and of what their firmware keeps
	// BIOS is that they have a BIOS (SeaBIOS) and not UEFI (OVMF).
	BIOS bool
	// Secure is that UEFI boots only what Microsoft or Debian has signed (Secure Boot).
	Secure bool
	NVMe   bool // the disk is one; else it is virtio's
	// TwoDisks: there is a second disk of virtio.
	TwoDisks bool
	// NetworkBoot is the URL of the script that iPXE begins with, which QEMU's DHCP names: a BIOS boots the network card's ROM, which is
	// iPXE (Debian: ipxe-qemu). UEFI would ask for a program by TFTP. "" = machines boot no network.
	NetworkBoot string
	// Tap is the tap interface at whose other end the machine's network card is, for a single machine; "" = it is in a network of QEMU.
	Tap string
	Log *zap.Logger
}

// Machines are the machines of a rack. They are machine.Computer.
type Machines struct {
	Config
	program string
}

// Where Debian's package ovmf has UEFI's code, and what it keeps before its first start.
const (
	ovmfCode = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	ovmfVars = "/usr/share/OVMF/OVMF_VARS_4M.fd"
	// With the keys of Microsoft, and code that checks signatures with them.
	ovmfSecureCode = "/usr/share/OVMF/OVMF_CODE_4M.secboot.fd"
	ovmfSecureVars = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"
)

// What a machine has. The agent needs 384 MiB, and a disk of more than 4 GiB.
const (
	memoryMiB = 512
	diskBytes = 8 << 30
)

// New returns machines. The error names what is not installed.
func New(c Config) (*Machines, error) {
	c.Log = cmp.Or(c.Log, zap.NewNop())
	const program = "qemu-system-x86_64"
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed (Debian: apt-get install qemu-system-x86): %w", program, err)
	}
	if _, err := os.Stat(ovmfCode); err != nil && !c.BIOS {
		return nil, fmt.Errorf("UEFI for virtual machines is not installed (Debian: apt-get install ovmf): %w", err)
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, err
	}
	return &Machines{Config: c, program: path}, nil
}

// Fit changes h to what a machine has: a processor, a disk and a network card.
func (m *Machines) Fit(h *machine.Hardware) {
	h.CPUs = []machine.CPU{{Model: "QEMU TCG CPU", Cores: 1, Threads: 1, MHz: 2000}}
	h.DIMMs = []machine.DIMM{{Slot: h.DIMMs[0].Slot, MiB: memoryMiB, Serial: h.DIMMs[0].Serial}}
	disk := machine.Drive{Name: "vda", Model: "QEMU virtio"}
	if m.NVMe {
		disk = machine.Drive{Name: "nvme0n1", Model: "QEMU NVMe Ctrl"}
	}
	second := machine.Drive{Name: "vdb", Model: "QEMU virtio", Serial: h.Drives[len(h.Drives)-1].Serial, Bytes: diskBytes}
	h.Drives = []machine.Drive{{Name: disk.Name, Model: disk.Model, Serial: h.Drives[0].Serial, Bytes: diskBytes}}
	if m.TwoDisks {
		h.Drives = append(h.Drives, second)
	}
	h.NICs, h.GPUs = h.NICs[:1], nil
}

// Firmware describes the firmware of all machines.
func (m *Machines) Firmware() machine.Firmware {
	if m.BIOS {
		return machine.Firmware{Mode: "Legacy"}
	}
	return machine.Firmware{Mode: "UEFI", SecureBoot: m.Secure}
}

// Disk returns the file with the disk of the server of that name. It is there once the server was switched on.
func (m *Machines) Disk(server string) string { return filepath.Join(m.Dir, server+".disk") }

// SecondDisk returns the file with the second disk.
func (m *Machines) SecondDisk(server string) string { return m.Disk(server) + "2" }

// Printed returns the file with what the server of that name has printed on its first serial port since it was switched on.
func (m *Machines) Printed(server string) string { return filepath.Join(m.Dir, server+".console") }

// Run switches the machine of s on, and returns when it is off.
func (m *Machines) Run(ctx context.Context, s *machine.Server, from machine.Source, button <-chan struct{}) machine.Ending {
	log := m.Log.With(zap.String("server", s.Name))
	log.Info("a virtual machine is switched on", zap.String("boots_from", string(from)))
	ending, err := m.run(ctx, s, from, button)
	if err != nil && ctx.Err() == nil {
		log.Error("a virtual machine failed", zap.Error(err))
		_, _ = fmt.Fprintf(&s.Console, "\r\nthe virtual machine failed: %v\r\n", err)
		return machine.Failed
	}
	log.Info("a virtual machine is off", zap.String("because", string(ending)))
	return ending
}

func (m *Machines) run(ctx context.Context, s *machine.Server, from machine.Source, button <-chan struct{}) (machine.Ending, error) {
	args, err := m.arguments(s, from)
	if err != nil {
		return machine.Failed, err
	}
	monitor, theirs, err := newMonitor()
	if err != nil {
		return machine.Failed, err
	}
	defer monitor.close()
	c := exec.CommandContext(ctx, m.program, args...)
	c.ExtraFiles = []*os.File{theirs} // number 3
	printed, err := os.Create(m.Printed(s.Name))
	if err != nil {
		return machine.Failed, errors.Join(err, theirs.Close())
	}
	defer func() { _ = printed.Close() }() // it is for people
	console := io.MultiWriter(printed, &s.Console)
	c.Stdout, c.Stderr = console, console
	dieWithParent(c)
	keys, err := c.StdinPipe()
	if err != nil {
		return machine.Failed, errors.Join(err, theirs.Close())
	}
	err = c.Start()
	if err = errors.Join(err, theirs.Close()); err != nil {
		return machine.Failed, err
	}
	typing := newTyping(keys)
	s.Console.Connect(typing)
	defer typing.close()
	defer s.Console.Connect(nil)
	ended := make(chan machine.Ending, 1)
	go func() { ended <- monitor.watch() }()
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case <-button:
				monitor.press()
			case <-over:
				return
			}
		}
	}()
	err = c.Wait()
	if ctx.Err() != nil {
		return machine.PowerLost, nil
	}
	return <-ended, err
}

// arguments returns the arguments of the process. It makes a disk and what UEFI keeps, if there are none.
func (m *Machines) arguments(s *machine.Server, from machine.Source) ([]string, error) {
	disk := m.Disk(s.Name)
	if err := makeDisk(disk); err != nil {
		return nil, err
	}
	callback, err := freePort()
	if err != nil {
		return nil, err
	}
	ssh, err := freePort()
	if err != nil {
		return nil, err
	}
	s.SSH.Store(&ssh)
	args := []string{
		"-name", s.Name, "-machine", "q35", "-m", fmt.Sprint(memoryMiB), "-smp", "1", "-uuid", s.UUID, "-smbios", "type=1,serial=" + s.Serial,
		// Never KVM: a machine may have /dev/kvm on which a usual kernel hangs.
		"-accel", "tcg,thread=multi", "-cpu", "max", "-device", "virtio-rng-pci",
		"-nodefaults", "-no-reboot", "-display", "none", "-vga", "std", "-serial", "stdio",
		"-chardev", "socket,id=monitor,fd=3", "-mon", "chardev=monitor,mode=control",
		// A guest that asks to forget something is not heard, so that what it erases it has to write. Zeros that it writes take no room.
		"-drive", "if=none,id=disk,format=raw,discard=unmap,detect-zeroes=unmap,file=" + disk,
		"-device", fmt.Sprintf("%s,drive=disk,bootindex=%d", m.disk(s), order(from == machine.Disk)),
		"-device", "e1000e,netdev=net,mac=" + s.NICs[0].MAC + m.rom(from),
	}
	if m.TwoDisks {
		second := m.SecondDisk(s.Name)
		if err := makeDisk(second); err != nil {
			return nil, err
		}
		args = append(args, "-drive", "if=none,id=disk2,format=raw,discard=unmap,detect-zeroes=unmap,file="+second,
			"-device", fmt.Sprintf("virtio-blk-pci,discard=off,write-zeroes=off,serial=%s,drive=disk2,bootindex=3", s.Drives[1].Serial))
	}
	if m.Tap != "" {
		args = append(args, "-netdev", "tap,id=net,script=no,downscript=no,ifname="+m.Tap)
	} else {
		// The guest calls the host as 10.0.2.2, and the host calls the agent at callback.
		args = append(args, "-netdev", "user,id=net,hostfwd=tcp:"+callback+"-:9999,hostfwd=tcp:"+ssh+"-:22"+m.bootFile(from),
			"-fw_cfg", "name=opt/dev.temper/parameters,string=ipa-lldp-timeout=0 temper-advertise="+callback) // no switch is at the other end of its network
	}
	if medium := s.MediaFile(); medium != "" {
		args = append(args, "-drive", "if=none,id=cd,media=cdrom,readonly=on,file="+medium, "-device", fmt.Sprintf("ide-cd,drive=cd,bootindex=%d", 2*order(from == machine.CD)))
	}
	if m.BIOS {
		return args, nil
	}
	vars := filepath.Join(m.Dir, s.Name+".vars")
	code, first := ovmfCode, ovmfVars
	if m.Secure {
		code, first = ovmfSecureCode, ovmfSecureVars
		// The variables are written in system management mode only, as the code wants it.
		args = append(args, "-machine", "smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on", "-global", "ICH9-LPC.disable_s3=1")
	}
	if err := copyOnce(first, vars); err != nil {
		return nil, err
	}
	return append(args, "-drive", "if=pflash,unit=0,format=raw,readonly=on,file="+code, "-drive", "if=pflash,unit=1,format=raw,file="+vars), nil
}

// bootFile is what QEMU's DHCP tells a machine that boots from the network.
func (m *Machines) bootFile(from machine.Source) string {
	if from != machine.Network || m.NetworkBoot == "" {
		return ""
	}
	return ",bootfile=" + m.NetworkBoot
}

// rom is the network card's: none, or the one from which the machine boots.
func (m *Machines) rom(from machine.Source) string {
	if from != machine.Network {
		return ",romfile="
	}
	return fmt.Sprintf(",bootindex=%d", order(true))
}

// disk is the device of the disk.
func (m *Machines) disk(s *machine.Server) string {
	if m.NVMe {
		return "nvme,serial=" + s.Drives[0].Serial
	}
	return "virtio-blk-pci,discard=off,write-zeroes=off,serial=" + s.Drives[0].Serial
}

// order is the place among what is booted.
func order(first bool) int {
	if first {
		return 0
	}
	return 1
}

func makeDisk(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < diskBytes {
		err = f.Truncate(diskBytes)
	}
	return errors.Join(err, f.Close())
}

func copyOnce(from, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to + ".new")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(to+".new", to)
}

// freePort returns an address of this machine on which nobody listens. Another program may take it before QEMU does, which then
// fails, and so does this boot.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
