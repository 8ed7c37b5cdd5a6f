// Package buildinfo says which program this is. It reads nothing but what the linker put into the program.
package buildinfo

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker in releases. Otherwise they are those of the build
// information.
var version, commit string

// Version returns the version of the program, "(devel)" if it is not known.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return cmp.Or(info.Main.Version, devel)
	}
	return cmp.Or(version, devel)
}

const devel = "(devel)"

// Commit returns the commit that the program was built from, "unknown" if it is not known. After it
// stands "-dirty" if files were changed since.
func Commit() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "-dirty"
		}
	}
	if revision == "" {
		return "unknown"
	}
	return revision + changed
}

// Line returns version, commit, Go and platform, as temper --version prints them.
func Line() string {
	return strings.Join([]string{"temper " + Version(), "commit " + Commit(), fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)}, ", ")
}
