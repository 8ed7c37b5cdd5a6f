package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Need makes sure that a program, or the file at an absolute path, is on this machine. Where it is not, the test fails if
// TEMPER_TEST_REQUIRE is set, and is skipped otherwise. debian is the package of Debian that has it.
func Need(t testing.TB, what, debian string) {
	t.Helper()
	_, err := exec.LookPath(what)
	if filepath.IsAbs(what) {
		_, err = os.Stat(what)
	}
	if err != nil {
		Missing(t, what+" is not installed (Debian: apt-get install "+debian+")")
	}
}

// Missing ends a test for which this machine lacks something: it fails if TEMPER_TEST_REQUIRE is set, and is skipped otherwise.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("TEMPER_TEST_REQUIRE") != "" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}
