package system_test

import (
	"fmt"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dev"
	"go.temper.dev/temper/internal/medium"
	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/testenv"
)

// byIPMI returns an available node whose BMC speaks IPMI, in a conductor group.
func byIPMI(t *testing.T, s *stack, r *rack, group string) *node {
	t.Helper()
	n := &node{t: t, s: s, r: r, server: r.take(t)}
	var of struct {
		Address  string `json:"ipmi_address"`
		Port     int    `json:"ipmi_port"`
		Username string `json:"ipmi_username"`
		Password string `json:"ipmi_password"`
	}
	a, err := request(http.MethodGet, r.url+"/servers/"+n.server, nil, nil)
	require.NoError(t, err)
	require.NoError(t, a.Decode(&of))
	var made shown
	require.NoError(t, s.must(t, http.StatusCreated, http.MethodPost, "/v1/nodes", map[string]any{
		"name": r.prefix + n.server, "driver": "ipmi", "conductor_group": group, "resource_class": "baremetal", "automated_clean": false,
		"driver_info": map[string]any{"ipmi_address": of.Address, "ipmi_port": of.Port, "ipmi_username": of.Username, "ipmi_password": of.Password},
	}).Decode(&made))
	n.uuid = made.UUID
	for _, mac := range n.hardware().MACs {
		s.must(t, http.StatusCreated, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": n.uuid, "address": mac})
	}
	n.done(n.provision("manage", nil), "manageable")
	n.done(n.provision("provide", nil), "available")
	return n
}

// A server whose BMC speaks IPMI has no virtual media: it boots its agent by network, is deployed, and is given back and cleaned.
func TestANodeOfIPMIIsDeployedByNetwork(t *testing.T) {
	t.Parallel()
	s := world(t)
	s.conductorWith(t, "ipmi", "net", "net-1", "TEMPER_AGENT_URL="+s.APIURL)
	n := byIPMI(t, s, ownRack(t, s.APIURL, sim.Config{Servers: 1, IPMI: true, PXE: true}), "net")
	n.image(n.r.url+"/images/disk.raw", digest(t, n.r))
	n.done(n.provision("active", nil), "active")
	n.patch("automated_clean", true)
	n.done(n.provision("deleted", nil), "available")
}

// A virtual machine with a BIOS and IPMI loads its agent by iPXE from temper boot, which is killed meanwhile and comes back, is deployed,
// and boots from its disk.
func TestAVirtualMachineBootsByNetwork(t *testing.T) {
	t.Parallel()
	testenv.OnlyInVM(t)
	testenv.Need(t, "qemu-system-x86_64", "qemu-system-x86")
	s := world(t)
	const guest = "10.0.2.2"
	at := freeAddress(t)
	_, port, err := net.SplitHostPort(at)
	require.NoError(t, err)
	to := "http://" + net.JoinHostPort(guest, port)
	boot := func(name string) *dev.Running {
		return s.role(t, "boot", name, []string{"TEMPER_RAMDISK=" + builtISO(t), "TEMPER_ALLOWED_HOSTS=" + guest, "TEMPER_TFTP_LISTEN=127.0.0.1:0"}, "--listen", at)
	}
	victim := boot("vm-net-boot")
	conductors := map[string]*dev.Running{"vm-net-1": s.conductorWith(t, "ipmi", "vm-net", "vm-net-1",
		"TEMPER_AGENT_URL="+to, "TEMPER_DEPLOY_CALLBACK_TIMEOUT=10m", "TEMPER_POWER_TIMEOUT=1m", "TEMPER_BOOT_TIMEOUT=5m")}
	dir := t.TempDir()
	r := ownRack(t, s.APIURL, sim.Config{
		Servers: 1, Machines: sim.QEMU, Firmware: sim.BIOS, DataDir: dir, IPMI: true, PXE: true, NetworkBoot: to + medium.NetworkScript,
	})
	n := &vm{node: byIPMI(t, s, r, "vm-net"), dir: dir, conductors: conductors}
	disk := partitioned()
	copy(disk, restarting())
	n.diskImage(disk)
	deploy := n.provision("active", nil)
	catches(t, patience, func() error { return n.tells("it has read ") })
	require.NoError(t, syscall.Kill(victim.Pid(), syscall.SIGKILL))
	boot("vm-net-boot-2")
	n.prints("ipa-node-uuid=" + n.uuid)
	n.done(deploy, "active")
	require.Regexp(t, `the server had read \d\d[.\d]* MB of its kernel and initrd`, fmt.Sprint(n.timeline(deploy)))
	n.did("On Off->On", "guest_off On->Off", "On Off->On", "guest_reset On->On")
}
