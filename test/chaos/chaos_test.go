package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/chaos"
	"go.temper.dev/temper/internal/node"
	"go.temper.dev/temper/internal/pgserver"
	"go.temper.dev/temper/test/stack"
)

func TestEveryKindIsTriedAtEveryBoundaryAndInTheMiddle(t *testing.T) {
	columns := map[node.Kind]bool{}
	for _, k := range kinds {
		columns[k.column] = true
		steps, err := plan(k)
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
	for _, k := range node.Kinds {
		require.True(t, columns[k], "operations of kind %s are tried", k)
	}
}

// The page says what was tried when it was written; what is tried now has to be the same.
func TestThePageIsOfThisMatrix(t *testing.T) {
	all, err := readResults("testdata/matrix.json")
	require.NoError(t, err)
	page, err := os.ReadFile("../../" + pageFile)
	require.NoError(t, err)
	require.Equal(t, string(all.page()), string(page), "the page is made of the results")
	require.Len(t, all.Rows, len(rows))
	for i, r := range rows {
		require.Equal(t, r.name, all.Rows[i].Name)
		require.Equal(t, r.holds, all.Rows[i].Holds)
		cases, err := options{}.cases(r)
		require.NoError(t, err)
		want, got := map[node.Kind]int{}, map[node.Kind]int{}
		for _, p := range cases {
			k, _ := kindOf(p.kind)
			want[k.column]++
		}
		for k, c := range all.Rows[i].Columns {
			got[k] = c.Cases
			require.Equal(t, c.Cases, c.Right, "%s, %s", r.name, k)
		}
		require.Equal(t, want, got, "the cases of %q: run make chaos", r.name)
	}
}

func TestAPartOfTheMatrixHolds(t *testing.T) {
	if _, err := pgserver.Find(); errors.Is(err, pgserver.ErrNotFound) && os.Getenv("TEMPER_TEST_REQUIRE") == "" {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	temper, err := stack.Build(ctx, "../..", t.TempDir(), "chaos")
	require.NoError(t, err)
	require.NoError(t, run(ctx, options{temper: temper, rows: part, most: 3, atOnce: 50, say: t.Logf}))
}

// part are the rows that every test run tries, at some points of each kind.
var part = []string{"conductor killed", "conductor frozen"}
