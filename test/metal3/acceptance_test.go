package metal3_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/metal3-io/baremetal-operator/pkg/provisioner"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"go.temper.dev/temper/internal/sim"
	"go.temper.dev/temper/internal/sim/machine"
	"go.temper.dev/temper/internal/testenv"
	"go.temper.dev/temper/test/stack"
)

// hostConfig is what Metal3 passes to the instance by its config drive.
type hostConfig struct{}

func (hostConfig) UserData(context.Context) (string, error)    { return "#cloud-config\n", nil }
func (hostConfig) NetworkData(context.Context) (string, error) { return "", nil }
func (hostConfig) MetaData(context.Context) (string, error)    { return "uuid: 1\n", nil }

func (h *host) inspect() (details *metal3api.HardwareDetails) {
	h.Helper()
	h.until("inspect", func(ctx context.Context, p provisioner.Provisioner) (r provisioner.Result, err error) {
		r, _, details, err = p.InspectHardware(ctx, provisioner.InspectData{BootMode: h.mode, CPUArchitecture: "x86_64"}, false, false, false)
		return r, err
	})
	require.NotNil(h, details)
	return details
}

func (h *host) prepare(data provisioner.PrepareData) {
	h.Helper()
	unprepared := true
	h.until("prepare", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		r, started, err := p.Prepare(ctx, data, unprepared, false)
		unprepared = unprepared && !started
		return r, err
	})
}

func (h *host) provision(image metal3api.Image) {
	h.Helper()
	data := access(metal3api.StateProvisioning)
	data.CurrentImage = &image
	h.register(data)
	h.until("provision", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		return p.Provision(ctx, provisioner.ProvisionData{Image: image, HostConfig: hostConfig{}, BootMode: h.mode}, false)
	})
	require.Equal(h, "active", h.node().State)
}

func (h *host) deprovision() {
	h.Helper()
	h.register(access(metal3api.StateDeprovisioning))
	h.until("deprovision", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		return p.Deprovision(ctx, false, metal3api.CleaningModeMetadata)
	})
	require.False(h, h.now().Powered)
}

// boots waits until the server has booted: a deploy ends when it is on.
func (h *host) boots(from string) {
	h.Helper()
	stack.Eventually(h.T, patience, func() error {
		if got := h.now().BootedFrom; got != from {
			return fmt.Errorf("it has booted from %q", got)
		}
		return nil
	})
}

// secureBoot reports whether Secure Boot was on when Temper read or set it last.
func (h *host) secureBoot() bool {
	h.Helper()
	var states struct {
		SecureBoot bool `json:"secure_boot"`
	}
	require.NoError(h, h.Call(h.Context(), http.MethodGet, "/v1/nodes/"+h.data.ProvisionerID+"/states", nil, &states))
	return states.SecureBoot
}

func (h *host) power(on bool) {
	h.Helper()
	h.until("power", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		if on {
			return p.PowerOn(ctx, true)
		}
		return p.PowerOff(ctx, metal3api.RebootModeHard, true, metal3api.CleaningModeMetadata)
	})
	require.Equal(h, on, h.now().Powered)
}

// dataImage attaches a data image to the running host, and detaches it.
func (h *host) dataImage(url string) {
	h.Helper()
	require.False(h, h.awaitDataImage(false))
	ask(h, func(ctx context.Context, p provisioner.Provisioner) (any, error) {
		return nil, p.AttachDataImage(ctx, url)
	})
	require.True(h, h.awaitDataImage(true))
	ask(h, func(ctx context.Context, p provisioner.Provisioner) (any, error) { return nil, p.DetachDataImage(ctx) })
	require.False(h, h.awaitDataImage(false))
}

// awaitDataImage waits until a data image is attached, or not, as wanted.
func (h *host) awaitDataImage(want bool) (attached bool) {
	h.Helper()
	stack.Eventually(h.T, patience, func() (err error) {
		attached = ask(h, func(ctx context.Context, p provisioner.Provisioner) (is bool, _ error) {
			if is, err = p.GetDataImageStatus(ctx); !errors.Is(err, provisioner.ErrNodeIsBusy) { // the work on the image still runs
				return is, err
			}
			return false, nil
		})
		if err == nil && attached != want {
			err = errors.New("the data image is still as it was")
		}
		return err
	})
	return attached
}

// ask calls the provisioner once.
func ask[T any](h *host, f func(context.Context, provisioner.Provisioner) (T, error)) (out T) {
	h.Helper()
	h.until("ask", func(ctx context.Context, p provisioner.Provisioner) (_ provisioner.Result, err error) {
		out, err = f(ctx, p)
		return provisioner.Result{}, err
	})
	return out
}

func (h *host) biosSettings() metal3api.SettingsMap {
	return ask(h, func(ctx context.Context, p provisioner.Provisioner) (metal3api.SettingsMap, error) {
		settings, _, err := p.GetFirmwareSettings(ctx, true)
		return settings, err
	})
}

func (c *cluster) image(t *testing.T) metal3api.Image {
	t.Helper()
	digest, err := c.Digest(t.Context())
	require.NoError(t, err)
	raw := "raw"
	return metal3api.Image{URL: c.RackURL + "/images/disk.raw", Checksum: digest, ChecksumType: metal3api.SHA256, DiskFormat: &raw}
}

func (c *cluster) liveISO() metal3api.Image {
	format := "live-iso"
	return metal3api.Image{URL: c.RackURL + "/images/deploy.iso", DiskFormat: &format}
}

// firmware serves an image of firmware as the simulated rack has them, and returns its URL.
func firmware(t *testing.T, component, version string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(machine.FirmwareImage{Component: component, Version: version})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/image.bin"
}

func TestTheWholeLifeOfAHostWithVirtualMedia(t *testing.T) {
	testenv.OnlyInAll(t, "it takes a host through its whole life; the registration alone runs in make test")
	c := start(t, "--nodes", "1", "--drivers", "redfish")
	h := c.host(t, "redfish-virtualmedia", c.RackURL, c.servers[0])
	h.mode = metal3api.UEFISecureBoot
	h.register(access(metal3api.StateRegistering))

	details := h.inspect()
	require.Positive(t, details.CPU.Count)
	require.Positive(t, details.RAMMebibytes)
	require.NotEmpty(t, details.Storage)

	before := h.biosSettings()
	require.Equal(t, "Enabled", before["ProcTurboMode"])
	disks := 2
	h.prepare(provisioner.PrepareData{
		TargetRAIDConfig:       &metal3api.RAIDConfig{HardwareRAIDVolumes: []metal3api.HardwareRAIDVolume{{Name: "root", Level: "1", NumberOfPhysicalDisks: &disks}}},
		ActualFirmwareSettings: before, TargetFirmwareSettings: metal3api.DesiredSettingsMap{"ProcTurboMode": intstr.FromString("Disabled")},
		TargetFirmwareComponents: []metal3api.FirmwareUpdate{{Component: "bios", URL: firmware(t, "BIOS", "9.9.9")}},
	})
	require.Equal(t, "Disabled", h.biosSettings()["ProcTurboMode"])
	components := ask(h, func(ctx context.Context, p provisioner.Provisioner) ([]metal3api.FirmwareComponentStatus, error) {
		return p.GetFirmwareComponents(ctx)
	})
	require.True(t, slices.ContainsFunc(components, func(c metal3api.FirmwareComponentStatus) bool {
		return c.Component == "bios" && c.CurrentVersion == "9.9.9" && c.LastVersionFlashed == "9.9.9" && c.InitialVersion != "9.9.9"
	}), "%+v", components)

	image := c.image(t)
	h.provision(image)
	h.boots("disk")
	require.Equal(t, image.Checksum, h.now().DiskSHA256)
	require.NotEmpty(t, h.now().ConfigDriveSHA256)
	require.True(t, h.secureBoot())

	h.power(false)
	h.power(true)

	h.dataImage(c.RackURL + "/images/deploy.iso")

	unprepared := true
	h.until("service", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		r, started, err := p.Service(ctx, provisioner.ServicingData{
			ActualFirmwareSettings: h.biosSettings(), HasFirmwareSpec: true,
			TargetFirmwareSettings: metal3api.DesiredSettingsMap{"ProcTurboMode": intstr.FromString("Enabled")},
		}, unprepared, false)
		unprepared = unprepared && !started
		return r, err
	})
	require.Equal(t, "Enabled", h.biosSettings()["ProcTurboMode"])
	require.Equal(t, "active", h.node().State)
	require.Equal(t, image.Checksum, h.now().DiskSHA256, "a service keeps the data")

	h.deprovision()
	require.NotEqual(t, image.Checksum, h.now().DiskSHA256)
	require.False(t, h.secureBoot())

	live := c.liveISO()
	h.provision(live)
	require.Equal(t, live.URL, h.now().Media)
	require.True(t, h.now().Powered)
	h.deprovision()
	require.Empty(t, h.now().Media)
	h.detach()

	commands := len(h.now().Actions)
	h.register(access(metal3api.StateExternallyProvisioned))
	h.until("adopt", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) {
		return p.Adopt(ctx, provisioner.AdoptData{State: metal3api.StateExternallyProvisioned}, false)
	})
	require.Equal(t, "active", h.node().State)
	require.Len(t, h.now().Actions, commands, "an adoption changes nothing")
	h.until("delete", func(ctx context.Context, p provisioner.Provisioner) (provisioner.Result, error) { return p.Delete(ctx) })
}

// schemes are those of baremetal-operator's BMC addresses that Temper has hardware types for, with the persona of the rack that each is
// tried on. docs/metal3.md says what the others lack.
var schemes = []struct{ scheme, persona string }{
	{"redfish-virtualmedia", "openbmc"},
	{"ilo5-virtualmedia", "ilo5"},
	{"idrac-virtualmedia", "idrac9"},
	{"redfish", "xcc"},
	{"ilo5-redfish", "ilo5"},
	{"ipmi", "generic"},
	{"libvirt", "generic"},
}

func TestHostsOfEveryScheme(t *testing.T) {
	testenv.OnlyInAll(t, "each scheme is an inspection, a deploy and a cleaning")
	c := start(t, "--nodes", "1", "--drivers", "redfish,idrac,ipmi")
	for n, s := range schemes {
		t.Run(s.scheme, func(t *testing.T) {
			t.Parallel()
			url, server := c.rack(t, sim.Config{Seed: int64(n) + 100, Personas: []string{s.persona}})
			h := c.host(t, s.scheme, url, server)
			h.register(access(metal3api.StateRegistering))
			h.inspect()
			h.prepare(provisioner.PrepareData{})
			h.provision(c.image(t))
			h.boots("disk")
			h.power(false)
			h.power(true)
			h.deprovision()
			h.detach()
		})
	}
}

// rack runs a rack of one server, which boots from the network where the boot override says so, and returns the server.
func (c *cluster) rack(t *testing.T, cfg sim.Config) (string, stack.Server) {
	t.Helper()
	cfg.APIURL, cfg.Servers, cfg.DataDir, cfg.PerServerAddress, cfg.IPMI, cfg.PXE = c.APIURL, 1, t.TempDir(), true, true, true
	cfg.PowerDelay, cfg.BootDelay, cfg.StepDelay = 20*time.Millisecond, 50*time.Millisecond, 10*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended, ready := make(chan error, 1), make(chan string, 1)
	go func() { ended <- sim.Run(ctx, cfg, func(url string) { ready <- url }) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case url := <-ready:
		servers, err := (&stack.Stack{RackURL: url}).Servers(t.Context())
		require.NoError(t, err)
		return url, servers[0]
	case <-time.After(patience):
		require.Fail(t, "the rack did not come up")
	}
	return "", stack.Server{}
}
