package archtest

import (
	"bufio"
	"go/build/constraint"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// systems are the build tags that any file may have: they name what the program runs on.
var systems = []string{"linux", "darwin", "windows", "unix"}

// around are the files that fit in the wrappers at which a test stops the program.
var around = []string{"cmd/temper/around.go", "cmd/temper/around_chaos.go"}

// A build tag must not be able to take a safeguard away: what a release is built from is what was tested.
func TestNoBuildTagChangesWhatTheProgramDoes(t *testing.T) {
	var seen []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(filepath.Clean(path), "../../"))
		switch {
		case d.IsDir() && path != "../.." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || name == "test" || name == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, tag := range tagsOf(t, path) {
			if tag == "chaos" && slices.Contains(around, name) {
				seen = append(seen, name)
				continue
			}
			if !slices.Contains(systems, tag) {
				t.Errorf("%s is built depending on the tag %s", name, tag)
			}
		}
		return nil
	}))
	require.Equal(t, around, seen, "the tests know which files the tag chaos chooses between")
}

// tagsOf are the build tags that a file's constraint names.
func tagsOf(t *testing.T, path string) (tags []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && !strings.HasPrefix(lines.Text(), "package "); {
		if !constraint.IsGoBuild(lines.Text()) {
			continue
		}
		x, err := constraint.Parse(lines.Text())
		require.NoError(t, err, path)
		x.Eval(func(tag string) bool { tags = append(tags, tag); return true })
	}
	return tags
}
