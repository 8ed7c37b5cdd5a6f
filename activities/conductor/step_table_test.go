package conductor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestEveryStepHasAFunction(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range node.StepRules() {
		rows[r.Name()] = true
		require.True(t, stepFuncs[r.Name()] != nil || fakeFuncs[r.Name()] != nil, "step %s has a row in the table of steps, but no function", r.Name())
	}
	for _, funcs := range []map[string]stepFunc{stepFuncs, fakeFuncs} {
		for name := range funcs {
			require.True(t, rows[name], "step %s has a function, but no row in the table of steps", name)
		}
	}
}
