package faults_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/faults"
)

var update = flag.Bool("update", false, "write the faults into the documentation")

// The page of the rack has the table between these.
const (
	page  = "../../../docs/rack.md"
	begin = "<!-- faults: written by go generate ./internal/sim/faults -->\n"
	end   = "<!-- end of faults -->\n"
)

func TestTheFaultsStandInTheDocumentation(t *testing.T) {
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok, "where are the faults in %s?", page)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + faults.Markdown() + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(b), "go generate ./internal/sim/faults")
}

func TestTheExampleIsOne(t *testing.T) {
	l, err := faults.Parse([]byte(faults.Example))
	require.NoError(t, err)
	require.Len(t, l.Faults, 1)
	require.Contains(t, faults.Help(), string(l.Faults[0].Kind))
}

func TestWhatIsNoListOfFaultsIsToldHowOneLooks(t *testing.T) {
	_, err := faults.Parse([]byte(`[{"kind": "slow_power"}]`))
	require.ErrorContains(t, err, faults.Example)
	_, err = faults.Parse([]byte(`{"faults":[{"kind":"slow"}]}`))
	require.ErrorContains(t, err, "slow_power")
}
