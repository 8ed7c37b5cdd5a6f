package exit_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/exit"
)

var update = flag.Bool("update", false, "write the table in the documentation anew")

func TestTheCodesStandInTheDocumentation(t *testing.T) {
	const path, from, to = "../../../docs/command-line.md", "<!-- from internal/cli/exit, go generate ./internal/cli/exit -->\n", "<!-- end -->"
	var table strings.Builder
	table.WriteString("| code | meaning |\n|---|---|\n")
	for _, row := range exit.Codes {
		fmt.Fprintf(&table, "| %d | %s |\n", row.Code, row.Meaning)
	}
	table.WriteString("\n" + exit.Several() + "\n")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(raw), from)
	require.True(t, found)
	old, after, found := strings.Cut(rest, to)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+from+table.String()+to+after), 0o644))
		return
	}
	require.Equal(t, table.String(), old, "go generate ./internal/cli/exit writes it")
}

func TestHelpFitsTheScreen(t *testing.T) {
	for line := range strings.Lines(exit.Help()) {
		require.LessOrEqual(t, len(line), 81, line)
	}
}
