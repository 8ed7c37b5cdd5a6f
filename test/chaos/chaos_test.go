package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/test/stack"
)

func TestEveryKindIsTriedAtEveryBoundaryAndInTheMiddle(t *testing.T) {
	tried := map[node.OperationKind]bool{}
	for _, k := range kinds {
		tried[k.column] = true
		steps, err := planned(k)
		require.NoError(t, err)
		all, err := points(k)
		require.NoError(t, err)
		met := map[string]map[string]bool{}
		for _, p := range all {
			if met[p.Step] == nil {
				met[p.Step] = map[string]bool{}
			}
			met[p.Step][p.Name] = true
		}
		for _, s := range steps {
			require.True(t, met[s][chaos.Begun] && met[s][chaos.Over], "%s: %s is met when it begins and when it is over", k.name, s)
			if s != "deploy.switch_to_tenant_network" { // it does nothing
				require.True(t, met[s][chaos.Request] && met[s][chaos.Answered] || met[s][chaos.Looked], "%s: %s is met in its middle", k.name, s)
			}
		}
		require.True(t, met[""][chaos.Recorded], "%s is met when all is recorded", k.name)
	}
	for _, k := range columns {
		require.True(t, tried[k], "operations of kind %s are tried", k)
	}
}

func TestTheMatrixTriesEveryKindAndStep(t *testing.T) {
	for _, k := range node.Kinds() {
		require.Equal(t, notTried[k] == "", slices.Contains(columns, k), "operations of kind %s are tried: add the kind to columns and kinds, or say in notTried why not", k)
	}
	agents := slices.Clone(cleaned)
	for _, a := range slices.Concat(asked, served) {
		agents = append(agents, fmt.Sprintf("%s.%s", a["interface"], a["step"]))
	}
	tried := map[string]bool{}
	for _, k := range kinds {
		steps, err := planned(k)
		require.NoError(t, err)
		for _, s := range steps {
			tried[s] = true
			_, known := changes[s]
			require.True(t, known || slices.Contains(agents, s), "%s: say in changes by which requests step %s changes a server", k.name, s)
		}
	}
	for _, r := range node.StepRules() {
		require.Equal(t, stepsNotTried[r.Name()] == "", tried[r.Name()], "step %s is tried: plan it in one of the kinds, or say in stepsNotTried why not", r.Name())
	}
	for _, named := range [][]string{slices.Collect(maps.Keys(changes)), slices.Collect(maps.Keys(reads))} {
		for _, s := range named {
			require.True(t, tried[s], "no operation of the matrix has step %s", s)
		}
	}
}

func TestAPartOfTheMatrixHolds(t *testing.T) {
	ctx, temper := built(t)
	err := run(ctx, options{temper: temper, rows: part, most: 3, atOnce: 50, slack: 5 * time.Second, say: t.Logf})
	if wrong(err) {
		require.NoError(t, err)
	}
}

// built returns the program that is built for the matrix, and a context for a part of the matrix.
func built(t *testing.T) (context.Context, string) {
	stack.RequirePostgres(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	t.Cleanup(cancel)
	temper, err := stack.Build(ctx, stack.Root, t.TempDir(), "chaos")
	require.NoError(t, err)
	return ctx, temper
}

// part are the rows that every test run tries, at some points of each kind.
var part = []string{"conductor killed", "conductor frozen, and continued"}
