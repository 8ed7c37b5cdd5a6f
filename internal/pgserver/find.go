// Package pgserver finds an installed PostgreSQL and runs a private cluster with it, for
// development and tests. It never touches a cluster that it did not create, and production does
// not use it.
//
// Libraries for this download PostgreSQL's binaries at run time, and leave the server behind when its
// starter is killed. This package uses what the system has, ends the server together with its
// starter, and attaches to a server that survived.
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

// ErrNotFound is Find's error if no PostgreSQL of version MinMajor or newer is installed.
var ErrNotFound = errors.New("no PostgreSQL " + strconv.Itoa(MinMajor) + " or newer found in PATH or the usual places")

// Bins are the server programs of one PostgreSQL installation.
type Bins struct {
	Dir   string // folder of postgres and initdb
	Major int    // 15, 16, ...
}

// searchPaths are the folders of server programs that are not in PATH: Debian and Homebrew's
// versioned formulas install them elsewhere.
var searchPaths = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the installation to use: the one in PATH if it is new enough, else the newest one
// in searchPaths.
func Find() (Bins, error) {
	all := installed()
	if len(all) == 0 {
		return Bins{}, ErrNotFound
	}
	return all[0], nil
}

// findMajor returns the installation of exactly that major version. A data folder can be opened
// only by the major version that created it.
func findMajor(major int) (Bins, error) {
	for _, b := range installed() {
		if b.Major == major {
			return b, nil
		}
	}
	return Bins{}, fmt.Errorf("the data folder was made by PostgreSQL %d, which is not installed", major)
}

// installed returns the installations, the preferred one first.
func installed() []Bins {
	var first, rest []Bins
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			first = appendBins(first, filepath.Dir(real))
		}
	}
	for _, pattern := range searchPaths {
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
	if major := parseMajor(string(out)); major >= MinMajor {
		return append(list, Bins{Dir: dir, Major: major})
	}
	return list
}

// "postgres (PostgreSQL) 15.16 (Debian ...)", "postgres (PostgreSQL) 18beta1".
var versionPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func parseMajor(version string) int {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // the pattern has digits only; a number that is too long is no version
	return n
}
