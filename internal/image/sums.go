package image

import (
	"regexp"
	"strings"
)

// The lines of checksum files: GNU "DIGEST  name" and "DIGEST *name", BSD
// "SHA256 (name) = DIGEST", and a single digest.
var (
	gnuLine    = regexp.MustCompile(`^([0-9a-fA-F]{32,128})[ \t]+\*?(\S.*)$`)
	bsdLine    = regexp.MustCompile(`^([A-Za-z0-9-]+)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-fA-F]{32,128})$`)
	digestLine = regexp.MustCompile(`^[0-9a-fA-F]{32,128}$`)
)

// findDigest returns the digest of the file name from the text of a checksum file. A single
// digest without a name matches any name if the text has no other entry. If the text has
// digests of several algorithms for the name, findDigest returns that of algo or, if algo is
// empty, the longest. It ignores signatures and comments.
func findDigest(text, name, algo string) (digest string, found bool) {
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
		} else if digestLine.MatchString(line) {
			only = line
			continue
		}
		known := AlgorithmOf(sum)
		switch {
		case known == "", strings.TrimPrefix(file, "./") != name:
		case of != "" && of != known: // another algorithm with digests of this length: SHA3-256, BLAKE2
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
