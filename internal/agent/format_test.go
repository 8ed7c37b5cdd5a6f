package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/agent"
)

// The formats are those of oslo_utils' format inspectors, which the real agent uses.
func TestAnImageShowsItsFormatInItsFirstBytes(t *testing.T) {
	put := func(at int, what string) []byte {
		b := make([]byte, agent.FormatBytes)
		copy(b[at:], what)
		return b
	}
	hybrid := put(510, "\x55\xaa")
	copy(hybrid[32<<10:], "\x01CD001")
	fat := put(510, "\x55\xaa")
	fat[0x10], fat[0x15] = 2, 0xf8
	for name, c := range map[string]struct {
		first []byte
		want  []string
	}{
		"nothing":                       {nil, []string{"raw"}},
		"a short one":                   {[]byte("QF"), []string{"raw"}},
		"a file system":                 {put(1080, "\x53\xef"), []string{"raw"}},
		"a FAT file system":             {fat, []string{"raw"}},
		"a disk with a partition table": {put(510, "\x55\xaa"), []string{"gpt"}},
		"qcow2":                         {put(0, "QFI\xfb\x00\x00\x00\x03"), []string{"qcow2"}},
		"a volume of ISO 9660":          {put(32<<10, "\x01CD001\x01"), []string{"iso"}},
		"a bootable one":                {hybrid, []string{"iso", "gpt"}},
		"vmdk":                          {put(0, "KDMV"), []string{"vmdk"}},
		"vdi":                           {put(64, "\x7f\x10\xda\xbe"), []string{"vdi"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, agent.DetectFormats(c.first)) })
	}
}
