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
		require.NotNil(t, stepFuncs[r.Name()], "step %s has a row in the table of steps, but no function", r.Name())
	}
	for name := range stepFuncs {
		require.True(t, rows[name], "step %s has a function, but no row in the table of steps", name)
	}
}
