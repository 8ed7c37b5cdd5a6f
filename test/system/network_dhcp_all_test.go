package system_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// tapNumber tells the networks of a run apart.
var tapNumber = 0

// tap makes a network with a virtual machine and this machine, which has the address host there.
func tap(t *testing.T) (name, host string) {
	t.Helper()
	if os.Getuid() != 0 {
		testenv.Missing(t, "only root can make a network for a virtual machine")
	}
	tapNumber++
	name, host = fmt.Sprintf("tpr%d", os.Getpid()%100_000*10+tapNumber), fmt.Sprintf("10.213.%d.1", os.Getpid()%250+tapNumber)
	ip(t, "tuntap", "add", "dev", name, "mode", "tap")
	afterwards(t, "link", "del", name)
	ip(t, "addr", "add", host+"/24", "dev", name)
	ip(t, "link", "set", name, "up")
	return name, host
}

// ip runs ip, of iproute2.
func ip(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// afterwards runs ip at the end of the test.
func afterwards(t *testing.T, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		out, err := exec.Command("ip", args...).CombinedOutput() //nolint:noctx // it returns at once
		require.NoError(t, err, "%s", out)
	})
}

// relayed makes the network of a virtual machine, and another one of this machine. A router between them, which is a network namespace,
// relays DHCP. name is the machine's interface, on the interface of this machine, host its address, and router that of the machine's router.
func relayed(t *testing.T) (name, on, host, router string) {
	t.Helper()
	name, beyond := tap(t) // the address goes to the router
	on, host = "v"+name, strings.Replace(beyond, "10.213.", "10.214.", 1)
	space, bridge := "n"+name, "b"+name
	router, behind := beyond, strings.TrimSuffix(host, ".1")+".2"
	ip(t, "addr", "del", beyond+"/24", "dev", name)
	ip(t, "netns", "add", space)
	afterwards(t, "netns", "del", space)
	ip(t, "link", "add", bridge, "type", "bridge")
	afterwards(t, "link", "del", bridge)
	ip(t, "link", "set", name, "master", bridge)
	ip(t, "link", "add", "w"+name, "type", "veth", "peer", "name", "inner", "netns", space)
	ip(t, "link", "add", on, "type", "veth", "peer", "name", "outer", "netns", space)
	ip(t, "link", "set", "w"+name, "master", bridge, "up")
	ip(t, "link", "set", bridge, "up")
	ip(t, "addr", "add", host+"/24", "dev", on)
	ip(t, "link", "set", on, "up")
	for _, args := range [][]string{
		{"addr", "add", router + "/24", "dev", "inner"},
		{"addr", "add", behind + "/24", "dev", "outer"},
		{"link", "set", "inner", "up"},
		{"link", "set", "outer", "up"},
		{"link", "set", "lo", "up"},
		{"route", "add", "default", "via", host},
	} {
		ip(t, append([]string{"-n", space}, args...)...)
	}
	ip(t, "netns", "exec", space, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	ip(t, "route", "add", strings.TrimSuffix(router, ".1")+".0/24", "via", behind)
	testenv.Need(t, "dnsmasq", "dnsmasq-base")
	c := exec.CommandContext(t.Context(), "ip", "netns", "exec", space, "dnsmasq", "--keep-in-foreground", "--log-facility=-", "--conf-file=/dev/null",
		"--port=0", "--dhcp-relay="+router+","+host, "--pid-file=", "--user=root")
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return name, on, host, router
}

// dnsmasq runs a DHCP server with these lines until the end of the test.
func dnsmasq(t *testing.T, on string, lines ...string) {
	t.Helper()
	testenv.Need(t, "dnsmasq", "dnsmasq-base")
	dir := t.TempDir()
	conf := filepath.Join(dir, "conf")
	lines = append(lines, "port=0", "interface="+on, "bind-interfaces", "except-interface=lo", "dhcp-leasefile="+filepath.Join(dir, "leases"), "pid-file=", "user=root")
	require.NoError(t, os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	c := exec.CommandContext(t.Context(), "dnsmasq", "--keep-in-foreground", "--log-facility=-", "--conf-file="+conf)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
}

// documented are the lines for dnsmasq in docs/dhcp.md, for other addresses than those of the page.
func documented(t *testing.T, host, port string) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "dhcp.md"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(page), "### dnsmasq\n\n```\n")
	lines, _, found := strings.Cut(rest, "\n```")
	require.True(t, found)
	network := host[:strings.LastIndex(host, ".")+1]
	return strings.Split(strings.NewReplacer("10.0.0.5:6386", host+":"+port, "10.0.0.5", host, "10.0.0.", network).Replace(lines), "\n")
}

// Machines with UEFI and with a BIOS load iPXE by TFTP, or by HTTP, and their agent by HTTP: by our DHCP server, by our proxy beside somebody else's
// server, and by somebody else's server alone, with the lines of docs/dhcp.md.
//
//nolint:paralleltest // one machine after the other: each needs a processor
func TestAVirtualMachineBootsByNetworkWithDHCP(t *testing.T) {
	testenv.OnlyInVM(t)
	testenv.Need(t, "qemu-system-x86_64", "qemu-system-x86")
	for _, c := range []struct {
		name, firmware, dhcp, boot string
	}{
		{"uefi-server", sim.UEFI, "server", "ipxe"},
		{"uefi-http", sim.UEFI, "server", "http"},
		{"bios-proxy", sim.BIOS, "proxy", "pxe"},
		{"uefi-proxy", sim.UEFI, "proxy", "pxe"},
		{"uefi-none", sim.UEFI, "none", "ipxe"},
		{"uefi-relay", sim.UEFI, "relay", "ipxe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := world(t)
			var name, on, host, router string
			if c.dhcp == "relay" {
				name, on, host, router = relayed(t)
			} else {
				name, host = tap(t)
			}
			l, err := net.Listen("tcp", host+":0") //nolint:noctx // a test
			require.NoError(t, err)
			_, port, err := net.SplitHostPort(l.Addr().String())
			require.NoError(t, err)
			require.NoError(t, l.Close())
			at := net.JoinHostPort(host, port)
			network := host[:strings.LastIndex(host, ".")+1]
			args := []string{"--listen", at, "--tftp-listen", host + ":69", "--dhcp", c.dhcp}
			switch c.dhcp {
			case "relay":
				beyond := router[:strings.LastIndex(router, ".")+1]
				args = []string{
					"--listen", at, "--tftp-listen", host + ":69", "--dhcp", "server", "--dhcp-interface", on, "--dhcp-address", host,
					"--dhcp-ranges", beyond + "100-" + beyond + "110/24 router=" + router,
				}
			case "server":
				args = append(args, "--dhcp-interface", name, "--dhcp-address", host, "--dhcp-ranges", network+"100-"+network+"110/24 router="+host)
			case "proxy":
				args = append(args, "--dhcp-interface", name, "--dhcp-address", host)
				dnsmasq(t, name, "dhcp-range="+network+"100,"+network+"110,1h")
			default:
				dnsmasq(t, name, documented(t, host, port)...)
			}
			group := "dhcp-" + c.name
			s.role(t, "boot", group+"-boot", []string{"TEMPER_RAMDISK=" + builtISO(t)}, args...)
			s.conductor(t, group, group+"-1", "TEMPER_AGENT_URL=http://"+at,
				"TEMPER_DEPLOY_CALLBACK_TIMEOUT=10m", "TEMPER_POWER_TIMEOUT=1m", "TEMPER_BOOT_TIMEOUT=5m")
			dir := t.TempDir()
			r := ownRack(t, s.APIURL, sim.Config{Servers: 1, Machines: sim.QEMU, Firmware: c.firmware, DataDir: dir, PXE: true, Tap: name})
			n := &vm{node: available(t, s, r), dir: dir}
			s.must(t, http.StatusOK, http.MethodPatch, "/v1/nodes/"+n.uuid, append(set("conductor_group", group), set("boot_interface", c.boot)...))
			system := partitioned()
			copy(system, restarting())
			n.diskImage(system)
			deploy := n.provision("active", nil)
			n.prints("ipa-node-uuid=" + n.uuid)
			n.done(deploy, "active")
			require.Regexp(t, `the server had read \d\d[.\d]* MB of its kernel and initrd`, fmt.Sprint(n.timeline(deploy)))
		})
	}
}
