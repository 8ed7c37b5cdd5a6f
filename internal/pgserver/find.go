// Package pgserver finds PostgreSQL's programs and runs a private cluster with
// them, for development and tests. It never touches a cluster that it did not
// make, and it is no part of a production installation.
package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// MinMajor is the oldest major version that the migrations are tested with.
const MinMajor = 15

// ErrNotFound is Find's answer when no PostgreSQL of MinMajor or newer is there.
var ErrNotFound = errors.New("no PostgreSQL " + strconv.Itoa(MinMajor) + " or newer found in PATH or the usual places")

// Bins are the server programs of one PostgreSQL installation.
type Bins struct {
	Dir   string // folder that holds postgres and initdb
	Major int    // 15, 16, ...
}

// places are where packages put the server programs, PATH aside: Debian keeps
// them out of PATH, Homebrew's versioned formulas are not linked into it.
var places = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find is the installation to use: the one in PATH if it is new enough, else
// the newest of the usual places.
func Find() (Bins, error) {
	all := installed()
	if len(all) == 0 {
		return Bins{}, ErrNotFound
	}
	return all[0], nil
}

// findMajor is the installation of exactly that major version: a data folder
// can only be opened by the version that made it.
func findMajor(major int) (Bins, error) {
	for _, b := range installed() {
		if b.Major == major {
			return b, nil
		}
	}
	return Bins{}, fmt.Errorf("the data folder was made by PostgreSQL %d, which is not installed", major)
}

// installed lists what there is, the one to prefer first.
func installed() []Bins {
	var first, rest []Bins
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			first = appendBins(first, filepath.Dir(real))
		}
	}
	for _, pattern := range places {
		dirs, _ := filepath.Glob(pattern) // fails only for a bad pattern
		for _, d := range dirs {
			rest = appendBins(rest, d)
		}
	}
	slices.SortStableFunc(rest, func(a, b Bins) int { return cmp.Compare(b.Major, a.Major) })
	return append(first, rest...)
}

func appendBins(list []Bins, dir string) []Bins {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return list
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return list
	}
	if major := majorOf(string(out)); major >= MinMajor {
		return append(list, Bins{Dir: dir, Major: major})
	}
	return list
}

// "postgres (PostgreSQL) 15.16 (Debian ...)", "postgres (PostgreSQL) 18beta1".
var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func majorOf(version string) int {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // digits only; too many of them are no version
	return n
}
