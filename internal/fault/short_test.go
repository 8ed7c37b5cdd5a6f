package fault_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// What is wrong and what to do are at most two sentences of 25 words each.
func TestMeaningAndAdviceAreShort(t *testing.T) {
	sentence := regexp.MustCompile(`[.?] `)
	for _, row := range fault.Codes {
		for name, text := range map[string]string{"Meaning": row.Meaning, "Advise": row.Advise} {
			sentences := sentence.Split(text, -1)
			if len(sentences) > 2 {
				t.Errorf("%s of %s has %d sentences", name, row.Code, len(sentences))
			}
			for _, s := range sentences {
				if n := len(strings.Fields(s)); n > 25 {
					t.Errorf("%s of %s has a sentence of %d words: %s", name, row.Code, n, s)
				}
			}
			require.NotEmpty(t, text, row.Code)
		}
	}
}
