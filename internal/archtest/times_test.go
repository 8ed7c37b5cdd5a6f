package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writesForPrograms are the places that write times for programs. Times that people read come from package text.
var writesForPrograms = map[string]bool{"api/format": true, "internal/client": true, "internal/cli/since.go": true, "internal/sim": true, "internal/bmc/redfish/clock.go": true, "internal/dev": true}

func TestTimesForPeopleHaveOneForm(t *testing.T) {
	for _, top := range []string{"activities", "api", "cmd", "internal", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			switch {
			case err != nil:
				return err
			case d.IsDir() && (writesForPrograms[name] || d.Name() == "testdata"):
				return filepath.SkipDir
			case d.IsDir() || writesForPrograms[name] || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			source, err := os.ReadFile(path)
			if strings.Contains(string(source), ".Format(time.RFC3339") {
				t.Errorf("%s writes a time as RFC 3339: write text.Moment or text.Clock, or name the file in writesForPrograms", name)
			}
			return err
		}))
	}
}
