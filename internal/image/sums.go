package image

import (
	"regexp"
	"strings"
)

// The lines of checksum files: GNU "DIGEST  name" and "DIGEST *name", BSD
// "SHA256 (name) = DIGEST", and a digest alone.
var (
	gnuLine = regexp.MustCompile(`^([0-9a-fA-F]{32,128})[ \t]+\*?(\S.*)$`)
	bsdLine = regexp.MustCompile(`^([A-Za-z0-9-]+)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-fA-F]{32,128})$`)
	lone    = regexp.MustCompile(`^[0-9a-fA-F]{32,128}$`)
)

// find looks a file's digest up in the text of a checksum file. A digest alone
// counts for any name, if the file holds nothing else. Where a file lists one
// name with several algorithms, the one that is asked for is taken, else the
// longest digest. Signatures and comments around the lines are passed over.
func find(text, name, algo string) (digest string, found bool) {
	only, entries := "", 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		entries++
		of, file, sum := "", "", ""
		if m := bsdLine.FindStringSubmatch(line); m != nil {
			of, file, sum = strings.ToLower(strings.ReplaceAll(m[1], "-", "")), m[2], m[3]
		} else if m := gnuLine.FindStringSubmatch(line); m != nil {
			sum, file = m[1], m[2]
		} else if lone.MatchString(line) {
			only = line
			continue
		}
		known := algorithms[len(sum)]
		switch {
		case known == "", strings.TrimPrefix(file, "./") != name:
		case of != "" && of != known: // SHA3-256, BLAKE2: as long, and something else
		case algo != "" && algo != known:
		case len(sum) > len(digest):
			digest = sum
		}
	}
	if digest == "" && entries == 1 {
		digest = only
	}
	return strings.ToLower(digest), digest != ""
}
