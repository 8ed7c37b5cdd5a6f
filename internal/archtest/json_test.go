package archtest

import (
	"slices"
	"strings"
	"testing"
)

// What is not the program, or only simulates hardware, may decode as it likes.
var decodesFreely = []string{"internal/jsonvalue", "internal/sim", "internal/chaos", "api/apitest", "test"}

// encoding/json alone rounds the numbers of free-form values.
func TestOnlyOnePackageDecodesJSON(t *testing.T) {
	for path, p := range packages(t) {
		name, ours := strings.CutPrefix(path, module)
		if !ours || !slices.Contains(p.Imports, "encoding/json") || slices.ContainsFunc(decodesFreely, func(at string) bool { return below(name, at) }) {
			continue
		}
		for _, use := range uses(t, p, "json", []string{"Unmarshal", "NewDecoder"}) {
			t.Errorf("%s: call internal/jsonvalue, which keeps numbers", use)
		}
	}
}
