package redfish_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc/redfish"
	simredfish "go.temper.dev/temper/internal/sim/redfish"
)

var update = flag.Bool("update", false, "write the quirks and the personas into the documentation")

const hardwarePage = "../../../docs/hardware.md"

func TestTheHardwareStandsInTheDocumentation(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(hardwarePage)
	require.NoError(t, err)
	want := string(b)
	for name, table := range map[string]string{"quirks": quirksTable(), "personas": personasTable()} {
		begin, end := "<!-- "+name+": written by go generate ./internal/bmc/redfish -->\n", "<!-- end of "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		require.True(t, ok, "where are the %s in %s?", name, hardwarePage)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok)
		want = before + begin + table + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(hardwarePage, []byte(want), 0o644))
		return
	}
	if want != string(b) {
		t.Fatalf("%s is not up to date: go generate ./internal/bmc/redfish", hardwarePage)
	}
}

func quirksTable() string {
	var b strings.Builder
	b.WriteString("| quirk | BMCs | what they do | what the driver does | source | persona |\n|---|---|---|---|---|---|\n")
	for _, q := range redfish.Quirks() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` |\n", q.Name, q.Who, q.Seen, q.Done, q.Source, needed[q.Name].persona)
	}
	return b.String()
}

func personasTable() string {
	var b strings.Builder
	for _, p := range simredfish.Personas() {
		fmt.Fprintf(&b, "### %s\n\nThis is %s.\n\n| part | follows | source |\n|---|---|---|\n", p.Name, p.About)
		for _, part := range p.Parts {
			from := map[simredfish.Origin]string{
				simredfish.Recorded: "a published answer", simredfish.Reported: "a report", simredfish.Guessed: "nothing: it is guessed",
			}[part.From]
			fmt.Fprintf(&b, "| %s | %s | %s |\n", part.What, from, part.Source)
		}
		b.WriteString("\n")
	}
	return b.String()
}
