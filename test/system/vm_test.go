package system_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/ramdisk"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
	stacks "go.temper.dev/temper/test/stack"
)

// builtRamdisk returns the folder of a ramdisk, as make ramdisk builds it, with a program of this repository as the agent. It is built
// once per content of its programs, and kept in the user's cache, because a build computes for 15 s.
func builtRamdisk(t *testing.T, agent, commandLine string, flags ...string) string {
	t.Helper()
	testenv.Need(t, "apt-get", "apt")
	root, err := filepath.Abs(stacks.Root)
	require.NoError(t, err)
	dir := t.TempDir()
	sum := sha256.New()
	for name, of := range map[string]string{"init": "./internal/ramdisk/init", "agent": agent, "mkramdisk": "./internal/ramdisk/mkramdisk"} {
		command(t, root, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, name), of)
	}
	for _, name := range []string{"init", "agent", "mkramdisk"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		sum.Write(b)
	}
	sum.Write([]byte(commandLine + strings.Join(flags, " ")))
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	kept := filepath.Join(cache, "temper", "ramdisk", hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	command(t, root, filepath.Join(dir, "mkramdisk"), append(flags, "--init", filepath.Join(dir, "init"), "--agent", filepath.Join(dir, "agent"), "--out", filepath.Join(dir, "out"), "--append", commandLine)...)
	forget(t, filepath.Dir(kept))
	fresh, err := os.MkdirTemp(filepath.Dir(kept), "new-")
	require.NoError(t, err)
	command(t, root, "cp", "-rT", filepath.Join(dir, "out"), fresh) // perhaps to another file system
	if err := os.Rename(fresh, kept); err != nil {                  // another run may have been first
		require.NoError(t, os.RemoveAll(fresh))
		require.DirExists(t, kept, err)
	}
	return kept
}

// builtISO returns the ISO of the ramdisk with the agent.
func builtISO(t *testing.T, flags ...string) string {
	t.Helper()
	return filepath.Join(builtRamdisk(t, "./cmd/temper-agent", "no_timer_check", flags...), ramdisk.ISOFile)
}

// forget removes the ramdisks of the folder that are older than a week: other programs than today's are in them.
func forget(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	kept, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, k := range kept {
		if info, err := k.Info(); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, k.Name())))
		}
	}
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

// restarting is a boot sector: the BIOS starts it, and it restarts the machine by the keyboard's controller.
func restarting() []byte {
	return append([]byte{0xb0, 0xfe, 0xe6, 0x64, 0xf4, 0xeb, 0xfd}, make([]byte, 433)...)
}

// hostAddress is an address of this machine that a virtual machine behind QEMU's network reaches, as the API does.
func hostAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range all {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && ip.To4() != nil && ip.IsGlobalUnicast() {
			return ip.String()
		}
	}
	testenv.Missing(t, "this machine has no address but loopback, and a virtual machine can't fetch an image from it")
	return ""
}

// served serves a file's content on an address of this machine.
func served(t *testing.T, content []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(hostAddress(t), "0")) //nolint:noctx // a test
	require.NoError(t, err)
	srv := &httptest.Server{Listener: l, Config: &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "disk.raw", time.Time{}, bytes.NewReader(content))
	})}}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv.URL + "/disk.raw"
}

// vm is a node that is a virtual machine.
type vm struct {
	*node
	dir        string // of its files
	conductors map[string]*dev.Running
}

// prints waits until the machine has printed the lines on its serial port in this boot.
func (v *vm) prints(lines ...string) {
	v.t.Helper()
	eventually(v.t, 3*patience, func() error {
		console := v.printed()
		for _, line := range lines {
			if !strings.Contains(console, line) {
				return fmt.Errorf("it has not printed %q, but %s", line, console[max(0, len(console)-4<<10):])
			}
		}
		return nil
	})
}

// printed is what the machine has printed on its serial port since it was switched on.
func (v *vm) printed() string {
	v.t.Helper()
	console, err := os.ReadFile(filepath.Join(v.dir, "qemu", v.server+".console"))
	if !errors.Is(err, fs.ErrNotExist) { // it was never on
		require.NoError(v.t, err)
	}
	return string(console)
}

// virtual returns a node that is a virtual machine, which an API and conductors of its own boot from the media that the API makes of iso.
func virtual(t *testing.T, name, iso string, c sim.Config, env ...string) *vm {
	t.Helper()
	return virtualAt(t, "127.0.0.1", "10.0.2.2", name, iso, c, env...)
}

// virtualAt is virtual with an API that listens on a loopback address of this machine, which a virtual machine reaches at another one.
func virtualAt(t *testing.T, loopback, guest, name, iso string, c sim.Config, env ...string) *vm {
	t.Helper()
	testenv.Need(t, "qemu-system-x86_64", "qemu-system-x86")
	s := world(t)
	api := s.role(t, "api", name+"-api", []string{"TEMPER_RAMDISK=" + iso, "TEMPER_ALLOWED_HOSTS=" + guest}, "--listen", net.JoinHostPort(loopback, "0"))
	at, err := url.Parse(api.URL())
	require.NoError(t, err)
	env = append(env, "TEMPER_MEDIA_URL="+api.URL(), "TEMPER_AGENT_URL=http://"+net.JoinHostPort(guest, at.Port()),
		"TEMPER_DEPLOY_CALLBACK_TIMEOUT=10m", "TEMPER_CLEAN_CALLBACK_TIMEOUT=10m", "TEMPER_RESCUE_CALLBACK_TIMEOUT=10m", "TEMPER_POWER_TIMEOUT=1m", "TEMPER_BOOT_TIMEOUT=5m")
	conductors := map[string]*dev.Running{}
	for _, c := range []string{name + "-1", name + "-2"} {
		conductors[c] = s.conductor(t, name, c, env...)
	}
	c.Servers, c.Machines, c.DataDir = 1, sim.QEMU, t.TempDir()
	n := available(t, s, ownRack(t, s.APIURL, c)).withoutISO()
	n.patch("conductor_group", name)
	n.virtual = true
	return &vm{node: n, dir: c.DataDir, conductors: conductors}
}

// diskImage makes a disk's content the image of n.
func (n *node) diskImage(content []byte) {
	n.t.Helper()
	sum := sha256.Sum256(content)
	n.patch("instance_info", map[string]any{"image_source": served(n.t, content), "image_disk_format": "raw", "image_os_hash_algo": "sha256", "image_os_hash_value": hex.EncodeToString(sum[:])})
}

// did waits until the power of n's machine has changed in these ways.
func (n *node) did(ways ...string) {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		did := effects(n.hardware().Actions)
		if len(did) < len(ways) || !slices.Equal(did[:len(ways)], ways) {
			return fmt.Errorf("the agent has not switched it off, or the image has not booted: %v", did)
		}
		return nil
	})
}

// staticNetwork is the network_data of a machine behind QEMU's network: a bond of its card with the address that QEMU forwards to, and
// a VLAN on the bond.
func staticNetwork(mac string) map[string]any {
	return map[string]any{
		"links": []any{
			map[string]any{"id": "card", "type": "phy", "ethernet_mac_address": mac},
			map[string]any{"id": "bond", "type": "bond", "ethernet_mac_address": mac, "bond_mode": "active-backup", "bond_links": []any{"card"}},
			map[string]any{"id": "vlan", "type": "vlan", "vlan_mac_address": mac, "vlan_link": "bond", "vlan_id": 7},
		},
		"networks": []any{
			map[string]any{
				"id": "n", "network_id": "n", "type": "ipv4", "link": "bond", "ip_address": "10.0.2.15", "netmask": "255.255.255.0",
				"routes": []any{map[string]any{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.2.2"}},
			},
			map[string]any{"id": "v", "network_id": "v", "type": "ipv6", "link": "vlan", "ip_address": "2001:db8::7/64", "routes": []any{map[string]any{"network": "::/0", "gateway": "2001:db8::1"}}},
		},
		"services": []any{map[string]any{"type": "dns", "address": "10.0.2.3"}},
	}
}

// One whole deploy, of a virtual machine whose BMC is the rack's: it boots Temper's own ramdisk from the medium that the API makes, has
// the network that the node says, the agent there writes the image to the disk, and the machine boots from it.
//
// It runs before the other tests: beside them the machine would have a small part of a processor.
//
//nolint:paralleltest // see above
func TestAVirtualMachineIsDeployed(t *testing.T) {
	n := virtual(t, "vm", builtISO(t), sim.Config{Firmware: sim.BIOS})
	disk := partitioned()
	copy(disk, restarting())
	n.diskImage(disk)
	n.patch("network_data", staticNetwork(n.hardware().MACs[0]))
	deploy := n.provision("active", map[string]any{"configdrive": map[string]any{"meta_data": map[string]any{"hostname": "vm"}}})
	n.prints("is in the bond bond1 (active-backup)", "bond1: has 10.0.2.15/24 from network_data", "vlan2.7: has 2001:db8::7/64 from network_data")
	n.done(deploy, "active")
	require.Regexp(t, `{medium read deploy.deploy vm-\d  the server had read \d\d[.\d]* MB of its CD`, fmt.Sprint(n.timeline(deploy)))
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")
}
