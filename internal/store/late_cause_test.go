package store_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/testenv"
)

// The fleet is told the same cause of being late as the node: wait_late_cause of the schema and node.Operation.LateCause agree about each
// kind of wait that Go declares, and about each word that the schema has.
func TestWhyAWaitIsLateIsTheSameInSQLAndInGo(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	source := ask[string](t, url, `SELECT prosrc FROM pg_proc WHERE proname = 'wait_late_cause'`)
	kinds := slices.Collect(maps.Values(testenv.Constants(t, "../node/wait.go", "WaitFor")))
	for _, word := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(source, -1) {
		kinds = append(kinds, word[1])
	}
	now := time.Now().UTC().Truncate(time.Second)
	before, after := now.Add(-time.Minute), now.Add(time.Minute)
	for _, kind := range kinds {
		for _, unread := range []string{"", "no answer"} {
			for _, lateAt := range []*time.Time{nil, &before, &after} {
				for _, cause := range []fault.Code{"", fault.PowerUnchanged} {
					w := &node.Wait{For: node.WaitFor(kind), Since: before, Unread: unread, LateAt: lateAt, LateCause: cause}
					o := &node.Operation{Phase: node.Running, Steps: []node.Step{{Interface: "deploy", Step: node.StepDeploy, State: node.StepRunning}}, StepWait: w}
					written, err := json.Marshal(w)
					require.NoError(t, err)
					got := ask[string](t, url, `SELECT coalesce(wait_late_cause($1, $2), '')`, written, now)
					require.Equal(t, string(o.LateCause(now)), got, "%s", written)
				}
			}
		}
	}
}
