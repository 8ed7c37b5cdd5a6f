package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
)

func TestManyHandOversInARowAreFolded(t *testing.T) {
	moments := func(kinds ...string) (out []client.Moment) {
		for _, k := range kinds {
			out = append(out, client.Moment{What: k, Text: k})
		}
		return out
	}
	few := moments("accepted", "no answer", "handed over", "taken over", "ended")
	require.Equal(t, few, foldHandOvers(few))
	many := moments("accepted", "no answer", "handed over", "no answer", "handed over", "taken over", "failed", "handed over", "ended")
	var told []string
	for _, m := range foldHandOvers(many) {
		told = append(told, m.Text)
	}
	require.Equal(t, []string{"accepted", "no answer", "3 more lines about hand-overs until ; the API's timeline has them", "taken over", "failed", "handed over", "ended"}, told)
	require.Empty(t, foldHandOvers(nil))
}
