// Package metal3_test has baremetal-operator's own provisioner, unchanged, drive Temper as it drives Ironic: Metal3's controllers call it
// in the same way. It can't run the controllers, which need a Kubernetes API server.
package metal3_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner/ironic"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"go.temper.dev/temper/test/stack"
)

const settings = `
power_timeout: 20s
rack_power_delay: 20ms
rack_boot_delay: 50ms
rack_step_delay: 10ms
rack_address_per_server: true
# Boots by network need it. The simulated agents call the API that their rack names.
agent_url: http://api.example.org
`

// patience is how long to wait for what a host becomes, on a machine that may be very busy.
const patience = 3 * time.Minute

// cluster is a running stack, and how Metal3 reaches it.
type cluster struct {
	*stack.Stack
	provisioner.Factory
	servers []stack.Server
}

// start runs a stack with simulated servers, and configures the provisioner as baremetal-operator's deployment does, by its environment.
func start(t *testing.T, args ...string) *cluster {
	t.Helper()
	s := stack.Config{Settings: settings, Args: append([]string{"--enroll=false", "--conductors", "1"}, args...)}.For(t)
	servers, err := s.Servers(t.Context())
	require.NoError(t, err)
	t.Setenv("METAL3_AUTH_ROOT_DIR", t.TempDir())
	t.Setenv("IRONIC_ENDPOINT", s.APIURL+"/v1")
	t.Setenv("DEPLOY_ISO_URL", s.RackURL+"/images/deploy.iso")
	t.Setenv("DEPLOY_KERNEL_URL", s.RackURL+"/images/deploy.kernel")
	t.Setenv("DEPLOY_RAMDISK_URL", s.RackURL+"/images/deploy.initrd")
	factory, err := ironic.NewProvisionerFactory(logr.Discard(), false)
	require.NoError(t, err)
	return &cluster{Stack: s, Factory: factory, servers: servers}
}

// host is a BareMetalHost, as the controllers know it.
type host struct {
	*testing.T
	*cluster
	data   provisioner.HostData
	mode   metal3api.BootMode
	rack   *stack.Stack // of which only the rack is there
	server string
}

// host returns the BareMetalHost of a server of a rack whose BMC is reached by a scheme of baremetal-operator's, such as redfish-virtualmedia.
func (c *cluster) host(t *testing.T, scheme, rack string, sv stack.Server) *host {
	t.Helper()
	u, err := url.Parse(sv.Address)
	require.NoError(t, err)
	address, login := scheme+"+"+u.Scheme+"://"+u.Host+sv.System, bmc.Credentials{Username: sv.Username, Password: sv.Password}
	if scheme == "ipmi" || scheme == "libvirt" {
		address = fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(sv.IPMIAddress, strconv.Itoa(sv.IPMIPort)))
		login = bmc.Credentials{Username: sv.IPMIUsername, Password: sv.IPMIPassword}
	}
	return &host{T: t, cluster: c, mode: metal3api.UEFI, rack: &stack.Stack{RackURL: rack}, server: sv.Name, data: provisioner.HostData{
		ObjectMeta:                     metav1.ObjectMeta{Name: scheme + "-" + sv.Name, Namespace: "metal3", UID: types.UID("6a6a1e2c-0000-4000-8000-" + strings.ReplaceAll(sv.MACs[0], ":", ""))},
		BMCAddress:                     address,
		BMCCredentials:                 login,
		DisableCertificateVerification: true, BootMACAddress: sv.MACs[0],
	}}
}

// until has the provisioner do something again and again, as a reconciliation does, until it says that there is nothing left to do.
func (h *host) until(what string, do func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error)) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	require.NoError(h, stack.Poll(ctx, func() (bool, error) {
		p, err := h.NewProvisioner(ctx, h.data, func(string, string) {})
		require.NoError(h, err)
		ready, err := p.TryInit(ctx)
		require.NoError(h, err)
		require.True(h, ready)
		r, err := do(ctx, p)
		require.NoError(h, err, what)
		require.Empty(h, r.ErrorMessage, what)
		return !r.Dirty, nil
	}), what)
}

// access is what a host in a state of Metal3's is registered with.
func access(state metal3api.ProvisioningState) provisioner.ManagementAccessData {
	return provisioner.ManagementAccessData{
		AutomatedCleaningMode: metal3api.CleaningModeMetadata, State: state, CPUArchitecture: "x86_64",
	}
}

func (h *host) register(data provisioner.ManagementAccessData) {
	h.Helper()
	data.BootMode = h.mode
	h.until("register", func(ctx context.Context, p provisioner.Provisioner) (r provisioner.Result, err error) {
		var id string
		r, id, err = p.Register(ctx, data, false, false)
		if id != "" {
			h.data.ProvisionerID = id
		}
		return r, err
	})
}

// node shows the host's node.
func (h *host) node() stack.Node {
	h.Helper()
	n, err := h.Show(h.Context(), h.data.ProvisionerID)
	require.NoError(h, err)
	return n
}

// now shows the host's server.
func (h *host) now() stack.Server {
	h.Helper()
	sv, err := h.rack.Server(h.Context(), h.server)
	require.NoError(h, err)
	return sv
}

func (h *host) detach() {
	h.Helper()
	h.until("detach", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		return p.Detach(ctx, false)
	})
	_, err := h.Show(h.Context(), h.data.ProvisionerID)
	require.Error(h, err, "the node is gone")
	h.data.ProvisionerID = ""
}
