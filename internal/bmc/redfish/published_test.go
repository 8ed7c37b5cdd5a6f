package redfish_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/bmc/redfish"
)

// publishedIn is the module that has answers of real BMCs, in its tests.
const publishedIn = "github.com/bmc-toolbox/bmclib/v2"

// published returns the folder of the answers. They are not ours, so they are read where the module's download is.
func published(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", publishedIn)
	cmd.Dir = "testdata/recordings"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &module); jerr != nil || err != nil || module.Dir == "" {
		t.Skipf("NOT TESTED: %s can't be downloaded: %v %s", publishedIn, err, module.Error)
	}
	return filepath.Join(module.Dir, "internal", "redfishwrapper", "fixtures")
}

// publishedBMC answers GET with files, each at the path that it says itself, and everything else with 404.
func publishedBMC(t *testing.T, dir string, files ...string) *httptest.Server {
	t.Helper()
	answers := map[string][]byte{}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		var resource struct {
			At string `json:"@odata.id"`
		}
		require.NoError(t, json.Unmarshal(text, &resource), name)
		answers[strings.TrimSuffix(resource.At, "/")] = text
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[strings.TrimSuffix(r.URL.Path, "/")]
		if !ok || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// The driver reads what real BMCs have answered, as far as it is published.
func TestPublishedAnswersOfRealBMCsAreRead(t *testing.T) {
	t.Parallel()
	dir := published(t)
	for name, c := range map[string]struct {
		files  []string
		quirks []string
		model  string
		serial string
		power  bmc.Power
		check  func(*testing.T, bmc.Session, bmc.Inventory)
	}{
		"Dell PowerEdge R6515": {
			files:  []string{"dell/serviceroot.json", "dell/systems.json", "dell/system.embedded.1.json", "dell/bios.json"},
			quirks: []string{"dell-serial", "dell-pxe-attributes", "dell-switch-connections"},
			model:  "PowerEdge R6515", serial: "FOOXD53", power: bmc.PowerOn,
			check: func(t *testing.T, _ bmc.Session, inv bmc.Inventory) {
				require.Equal(t, 48, inv.CPUs)
				require.EqualValues(t, 64<<10, inv.MemoryMiB)
				require.NotEmpty(t, inv.BIOSVersion)
			},
		},
		"Dell, iDRAC 10": {
			files: []string{
				"dell/serviceroot.json", "dell/systems.json", "dell/system.embedded.1.virtualmedia.json", "dell/managers.json",
				"dell/manager.idrac.embedded.1.json", "dell/virtualmedia_collection.json", "dell/virtualmedia_1.json", "dell/virtualmedia_2.json",
			},
			quirks: []string{"idrac10-settings-boot", "idrac10-media-slot", "dell-serial", "dell-pxe-attributes", "dell-switch-connections"},
			model:  "PowerEdge R660", power: bmc.PowerOff,
			check: func(t *testing.T, s bmc.Session, _ bmc.Inventory) {
				m, err := s.Media(t.Context())
				require.NoError(t, err)
				require.False(t, m.Inserted)
			},
		},
		"Supermicro SYS-510T, Redfish 1.14": {
			files:  []string{"smc_1.14.0_serviceroot.json", "smc_1.14.0_systems.json", "smc_1.14.0_systems_1.json"},
			quirks: []string{"supermicro-usb-cd", "supermicro-full-boot"},
			model:  "SYS-510T-MR-EI018", serial: "S482931X2814218", power: bmc.PowerOn,
			check: func(t *testing.T, _ bmc.Session, inv bmc.Inventory) { require.EqualValues(t, 64<<10, inv.MemoryMiB) },
		},
		"Supermicro SYS-510T, Redfish 1.9": {
			files:  []string{"serviceroot.json", "systems.json", "systems_1.json", "managers.json", "managers_1.json", "systems_bios.json"},
			quirks: []string{"supermicro-usb-cd", "supermicro-full-boot"},
			model:  "SYS-510T-MR1-EI018", serial: "FOOBAR", power: bmc.PowerOn,
			check: func(t *testing.T, _ bmc.Session, inv bmc.Inventory) { require.EqualValues(t, 64<<10, inv.MemoryMiB) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := publishedBMC(t, dir, c.files...)
			d := newDriver(t, quick())
			info := map[string]any{"redfish_address": srv.URL}
			s := talk(t, d, info)
			power, err := s.Power(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.power, power)
			_, err = s.Boot(t.Context())
			require.NoError(t, err)
			inv, err := s.Inspect(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.model, inv.Model)
			require.Equal(t, c.serial, inv.Serial)
			c.check(t, s, inv)
			p, err := d.Probe(t.Context(), bmc.Target{Node: nodeID, Info: info})
			require.NoError(t, err)
			require.Equal(t, c.quirks, namesOf(p.Quirks))
		})
	}
}

func namesOf(quirks []redfish.Quirk) (names []string) {
	for _, q := range quirks {
		names = append(names, q.Name)
	}
	return names
}
