package cli

import (
	"fmt"

	"go.temper.dev/temper/internal/cli/table"
	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/node"
)

// fewHandOvers is how many lines about hand-overs are shown one by one.
const fewHandOvers = 3

// handsOver are the kinds of lines that say that a step went from one conductor to another.
var handsOver = map[string]bool{
	string(node.TimelineNoAnswer): true, string(node.TimelineHandedOver): true, string(node.TimelineTakenOver): true, string(node.TimelineStopped): true,
}

// foldHandOvers makes one line of all but the first and the last of many hand-overs in a row, as of a BMC that answers no conductor. The API
// has all of them.
func foldHandOvers(timeline []client.Moment) []client.Moment {
	var out []client.Moment
	for i := 0; i < len(timeline); {
		end := i
		for end < len(timeline) && handsOver[timeline[end].What] {
			end++
		}
		switch run := timeline[i:end]; {
		case len(run) == 0:
			out = append(out, timeline[i])
			end = i + 1
		case len(run) <= fewHandOvers:
			out = append(out, run...)
		default:
			last := run[len(run)-1]
			words := fmt.Sprintf("%d more lines about hand-overs until %s; the API's timeline has them", len(run)-2, table.Time(last.At))
			out = append(out, run[0], client.Moment{At: run[1].At, Text: words}, last)
		}
		i = end
	}
	return out
}
