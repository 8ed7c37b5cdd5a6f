package readme_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/test/readme"
)

func TestBlocks(t *testing.T) {
	require.Equal(t, []readme.Block{
		{Section: "Try", Commands: []string{"one", "two \\\n    three", "four"}},
		{Section: "Try", Commands: []string{"five"}},
		{Section: "Next", Commands: []string{"six"}},
	}, readme.Blocks("# Try\n\n    one\n    two \\\n        three\n\n    four\ntext\n\n    five\n\n```\n    not this\n```\n## Next\n    six\n"))
}
