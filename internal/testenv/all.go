package testenv

import (
	"os"
	"testing"
)

// All reports whether the test is part of `make test-all`, which tries every case. `make test` tries each kind of case at least once.
func All() bool { return os.Getenv("TEMPER_TEST_ALL") != "" }

// OnlyInVM skips the test unless it is run by `make vm`, which deploys virtual machines in all ways.
func OnlyInVM(t testing.TB) {
	t.Helper()
	if os.Getenv("TEMPER_TEST_VM") == "" {
		t.Skip("make vm runs it: a virtual machine computes for minutes")
	}
}

// OnlyInAll skips the test in `make test`, for a reason: its price, and which other test guards the same.
func OnlyInAll(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skip("make test-all runs it: " + why)
	}
}
