package main

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

// The page must have the rows and the number of cases that the matrix has now, and all of them must be right. Cases that only
// missed a time limit are on the page as late.
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
		cases, err := options{report: true}.cases(r)
		require.NoError(t, err)
		want, got := map[node.OperationKind]int{}, map[node.OperationKind]int{}
		for _, p := range cases {
			k, _ := kindOf(p.kind)
			if slices.Contains(all.tried(), k.column) {
				want[k.column]++
			}
		}
		for k, c := range all.Rows[i].Columns {
			got[k] = c.Cases
			require.Equal(t, c.Cases, c.Right+c.Late, "%s, %s", r.name, k)
		}
		require.Equal(t, want, got, "the cases of %q: run make chaos", r.name)
	}
}
