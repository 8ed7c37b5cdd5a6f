package quirks_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	driver = "./internal/bmc/redfish"
)

var all = flag.Bool("all", false, "take out each tolerance, and check that its test fails")

// tolerance is something that the driver does without a row in its table, because the BMC's
// answer shows that it is needed.
type tolerance struct {
	name string // its patch is name.patch
	test string // of the driver, which fails without it
}

// of returns the test of the conformance suite with a persona of the simulated rack.
func of(persona string) string { return "TestConformanceWithEveryPersona/" + persona }

var tolerances = []tolerance{
	{"image_only", of("smc-x11")},
	{"stale_image", of("smc-x11")},
	{"transfer_protocol", of("ami")},
	{"dummy_account", of("dgx")},
	{"media_by_patch", of("xcc")},
	{"next_drive", of("openbmc")},
	{"media_of_the_system", of("idrac10")},
	{"eject_body", of("ilo5")},
	{"eject_busy", of("idrac9")},
	{"stale_inserted", of("idrac9")},
	{"media_hint", "TestARefusedImageComesWithALikelyReason"},
	{"settings_write", of("ami")},
	{"settings_learned", of("ami")},
	{"full_boot", "TestABMCThatWantsTheWholeOverrideGetsIt"},
	{"disk_for_none", of("sushy-tools")},
	{"post_busy", of("ilo6")},
	{"conflict_busy", of("idrac10")},
	{"reset_done", of("idrac9")},
	{"sessions_full", "TestTheSessionsOfAPersonaRunOut"},
	{"one_login", "TestAWrongPasswordReachesTheSimulatedRackOnce"},
	{"read_again", "TestFaultsOfTheSimulatedRack"},
	{"no_compression", of("smc-x13")},
	{"without_etag", of("asrock")},
	{"odd_address", of("dgx")},
	{"empty_address", of("asrock")},
	{"other_types", of("openbmc")},
	{"part_away", of("dgx")},
	{"log_order", "TestTheNewestEntriesAreToldOfALogOfManyPages/idrac9"},
	{"log_links", "TestTheNewestEntriesAreToldOfALogOfManyPages/ilo5"},
	{"log_clear_type", "TestTheEventLogsOfPersonasAreReadAndCleared/ami"},
	{"boot_progress", "TestAPersonaTellsWhetherTheServerBeginsToBoot"},
}

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)`)

func TestEveryToleranceCanBeTakenOut(t *testing.T) {
	var names []string
	for _, tol := range tolerances {
		names = append(names, tol.name+".patch")
		overlay(t, tol.name)
	}
	files, err := filepath.Glob("*.patch")
	require.NoError(t, err)
	require.ElementsMatch(t, files, names, "each patch is a tolerance of the list")
}

func TestEveryToleranceIsNeeded(t *testing.T) {
	if !*all {
		t.Skip("make quirks runs this")
	}
	for _, tol := range tolerances {
		t.Run(tol.name, func(t *testing.T) {
			t.Parallel() // the driver's tests mostly wait
			out, err := run(t, tol.test, "-overlay", overlay(t, tol.name))
			require.Error(t, err, "GREEN, and it must not be: %s\n%s", tol.test, out)
			require.NotContains(t, out, "[build failed]", "mend %s.patch for the code as it is now", tol.name)
			require.Contains(t, out, "--- FAIL: "+strings.Split(tol.test, "/")[0], "%s", out)
			t.Logf("red, as it must be:\n%s", strings.Join(failures(out), "\n"))
		})
	}
}

// What fails without a tolerance passes with everything in place.
func TestTheTestsOfTolerancesPassWithThem(t *testing.T) {
	if !*all {
		t.Skip("make quirks runs this")
	}
	var tests []string
	for _, tol := range tolerances {
		tests = append(tests, tol.test)
	}
	slices.Sort(tests)
	for _, test := range slices.Compact(tests) {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, test)
			require.NoError(t, err, "%s is red with everything in place:\n%s", test, out)
		})
	}
}

// run runs one test of the driver and returns what it printed.
func run(t *testing.T, test string, more ...string) (string, error) {
	t.Helper()
	var exact []string
	for part := range strings.SplitSeq(test, "/") {
		exact = append(exact, "^"+regexp.QuoteMeta(part)+"$")
	}
	args := append([]string{"test", "-count=1", "-timeout=5m"}, more...)
	cmd := exec.CommandContext(t.Context(), "go", append(args, "-run", strings.Join(exact, "/"), driver)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// failures returns the names of the tests that failed.
func failures(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			names = append(names, "    "+name)
		}
	}
	return names
}

// overlay applies a patch to copies of the files that it changes, and returns the name of a
// file for go's flag -overlay, which replaces them in a build.
func overlay(t *testing.T, name string) string {
	t.Helper()
	patch, err := os.ReadFile(name + ".patch")
	require.NoError(t, err)
	dir, replace := t.TempDir(), map[string]string{}
	for _, file := range patched.FindAllStringSubmatch(string(patch), -1) {
		original, err := filepath.Abs(filepath.Join(root, file[1]))
		require.NoError(t, err)
		text, err := os.ReadFile(original)
		require.NoError(t, err)
		replace[original] = filepath.Join(dir, file[1])
		require.NoError(t, os.MkdirAll(filepath.Dir(replace[original]), 0o755))
		require.NoError(t, os.WriteFile(replace[original], text, 0o644))
	}
	require.NotEmpty(t, replace, "%s changes no file", name)
	cmd := exec.CommandContext(t.Context(), "git", "apply", "-")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s.patch does not apply: mend it for the code as it is now: %s", name, out)
	file := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o644))
	return file
}
