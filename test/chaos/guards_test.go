package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)`)

func TestEveryGuardCanBeTakenDown(t *testing.T) {
	const root = "../.."
	var of []string
	for _, g := range guardList {
		of = append(of, filepath.Base(g.patch()))
		t.Run(g.name, func(t *testing.T) {
			// What git reads go test can't see: it is to run this again when one of these files changes.
			patch, err := os.ReadFile(filepath.Join(root, g.patch()))
			require.NoError(t, err)
			for _, file := range patched.FindAllStringSubmatch(string(patch), -1) {
				_, err := os.ReadFile(filepath.Join(root, file[1]))
				require.NoError(t, err)
			}
			require.NoError(t, apply(t.Context(), root, g.patch(), "--check"))
		})
	}
	files, err := filepath.Glob(filepath.Join(root, guardsFolder, "*"))
	require.NoError(t, err)
	var there []string
	for _, f := range files {
		there = append(there, filepath.Base(f))
	}
	require.ElementsMatch(t, there, of, "the files of %s are the patches of guardList", guardsFolder)
}
