package mischief_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sim/mischief"
)

var update = flag.Bool("update", false, "write the faults into the documentation")

// The page of the rack has the table between these.
const (
	page  = "../../../docs/rack.md"
	begin = "<!-- faults: written by go generate ./internal/sim/mischief -->\n"
	end   = "<!-- end of faults -->\n"
)

func TestTheFaultsStandInTheDocumentation(t *testing.T) {
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok, "where are the faults in %s?", page)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + mischief.Markdown() + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(b), "go generate ./internal/sim/mischief")
}

func TestTheExampleIsOne(t *testing.T) {
	l, err := mischief.Parse([]byte(mischief.Example))
	require.NoError(t, err)
	require.Len(t, l.Faults, 1)
	require.Contains(t, mischief.Help(), string(l.Faults[0].Kind))
}

func TestWhatIsNoListOfFaultsIsToldHowOneLooks(t *testing.T) {
	_, err := mischief.Parse([]byte(`[{"kind": "slow_power"}]`))
	require.ErrorContains(t, err, mischief.Example)
	_, err = mischief.Parse([]byte(`{"faults":[{"kind":"slow"}]}`))
	require.ErrorContains(t, err, "slow_power")
}
