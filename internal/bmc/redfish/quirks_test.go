package redfish_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc/bmctest"
	"go.temper.dev/temper/internal/bmc/redfish"
)

// needed has, for each row of the table of quirks, a persona and the check of the suite that
// fails for it without the row.
var needed = map[string]struct{ persona, check string }{
	"supermicro-usb-cd":     {"smc-x11", "the server boots from the virtual CD"},
	"supermicro-full-boot":  {"smc-x13", "the boot override reads back as it was set"},
	"ami-full-boot":         {"asrock", "the boot override reads back as it was set"},
	"hpe-disabled-target":   {"ilo5", "the boot override reads back as it was set"},
	"idrac9-attribute-boot": {"idrac9-5", "the server boots from the virtual CD"},
	"idrac10-settings-boot": {"idrac10", "the boot override reads back as it was set"},
	"idrac10-media-slot":    {"idrac10", "the server boots from the virtual CD"},
	"dell-serial":           {"idrac9", "inspection finds a whole machine"},

	"dell-pxe-attributes":     {"idrac9", "inspection finds a whole machine"},
	"dell-switch-connections": {"idrac9", "inspection finds a whole machine"},
	"nvidia-gpu-board":        {"dgx", "inspection finds a whole machine"},
}

// The variables of the process that runs the suite without a row.
const (
	withoutEnv = "TEMPER_TEST_WITHOUT_QUIRK"
	personaEnv = "TEMPER_TEST_PERSONA"
)

func TestEveryRowOfTheTableOfQuirksIsNeeded(t *testing.T) {
	t.Parallel()
	var names []string
	for _, q := range redfish.Quirks() {
		names = append(names, q.Name)
	}
	slices.Sort(names)
	require.Equal(t, names, slices.Sorted(maps.Keys(needed)), "each row needs a persona that fails without it")
	for name, n := range needed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := suiteWithout(t, name, n.persona, n.check)
			require.Error(t, err, "%s: the suite is green without the row:\n%s", n.persona, out)
			require.Contains(t, out, "--- FAIL: TestConformanceWithoutAQuirk/"+strings.ReplaceAll(n.check, " ", "_"), out)
			out, err = suiteWithout(t, "", n.persona, n.check)
			require.NoError(t, err, "%s: the suite is red with the row:\n%s", n.persona, out)
		})
	}
}

// suiteWithout runs one check of the suite, in a process of its own because it is to fail.
func suiteWithout(t *testing.T, quirk, persona, check string) (string, error) {
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=2m", "-test.v",
		"-test.run=^TestConformanceWithoutAQuirk$/^"+strings.ReplaceAll(check, " ", "_")+"$")
	child.Env = append(os.Environ(), withoutEnv+"="+quirk, personaEnv+"="+persona)
	out, err := child.CombinedOutput()
	return string(out), err
}

// This runs in the other process of the test above.
func TestConformanceWithoutAQuirk(t *testing.T) {
	t.Parallel()
	persona := os.Getenv(personaEnv)
	if persona == "" {
		t.Skip("the test above starts it")
	}
	bmctest.Suite(t, func(t *testing.T) bmctest.Rig {
		r := personaRig(t, persona, os.Getenv(withoutEnv))
		if os.Getenv(withoutEnv) != "" {
			r.Settle = 2 * time.Second // what does not come is not waited for long
		}
		return r
	})
}
