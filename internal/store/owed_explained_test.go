package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	explanation "go.temper.dev/temper/internal/explain"
)

// The statement that finds due undos and the explanation of a node that owes something agree
// about when an undo is due.
func TestAnUndoIsDueWhenTheExplanationSaysSo(t *testing.T) {
	t.Parallel()
	for _, covered := range []bool{false, true} {
		for _, refused := range []bool{false, true} {
			for _, maintenance := range []string{"", "a person's", "of a fault"} {
				t.Run(fmt.Sprintf("covered %t, refused %t, maintenance %q", covered, refused, maintenance), func(t *testing.T) {
					t.Parallel()
					s, url := openURL(t)
					n := owing(t, s)
					if covered {
						serving(t, s)
					}
					raw(t, url, fmt.Sprintf(`UPDATE nodes SET owed_refused = %t, maintenance = %t, maintenance_by_fault = %t`,
						refused, maintenance != "", maintenance == "of a fault"))
					n, err := s.Node(t.Context(), n.UUID)
					require.NoError(t, err)
					e := explanation.Node(n, explanation.Facts{Covered: covered})
					ops, err := s.OpenUndos(t.Context(), undoSteps, "reconciliation", 0, 10)
					require.NoError(t, err)
					require.Equal(t, e.Next != "" && e.WaitingFor == "", len(ops) == 1, "%s waits for %q", e.Next, e.WaitingFor)
				})
			}
		}
	}
}
