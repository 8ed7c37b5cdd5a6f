package image

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzFind(f *testing.F) {
	sum := strings.Repeat("ab", 32)
	for _, text := range []string{sum, sum + "  disk.img", "SHA256 (disk.img) = " + sum, "# x\n" + sum + " *disk.img\n", "\x00"} {
		f.Add(text, "disk.img", "sha256")
	}
	f.Fuzz(func(t *testing.T, text, name, algo string) {
		digest, found := findDigest(text, name, algo)
		if !found {
			require.Empty(t, digest)
			return
		}
		// Whatever is found stands in the file.
		require.Contains(t, strings.ToLower(text), digest)
		require.True(t, hexDigest.MatchString(digest))
	})
}
