package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestARowThatWasInterruptedIsNotRecorded(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, file := range []string{resultsFile, pageFile} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	}
	ctx, interrupt := context.WithCancel(t.Context())
	none := func(kind) ([]point, error) { return nil, nil }
	first, second, third := row{name: rows[0].name, points: none}, row{name: rows[1].name}, row{name: rows[2].name, points: none}
	second.points = func(kind) ([]point, error) { interrupt(); return nil, nil }

	err := (&lab{say: t.Logf}).tryAll(ctx, options{report: true, atOnce: 1, say: t.Logf, matrix: []row{first, second, third}})
	require.ErrorContains(t, err, second.name+": interrupted, and not recorded")

	all, err := readResults(resultsFile)
	require.NoError(t, err)
	var recorded []string
	for _, r := range all.Rows {
		recorded = append(recorded, r.Name)
	}
	require.Equal(t, []string{first.name}, recorded)
}

func TestColumnsThatWereNotTriedAnewKeepTheirResults(t *testing.T) {
	all := results{Rows: []result{{
		Name: rows[0].name, Columns: map[node.OperationKind]cell{node.KindPower: {Cases: 3, Right: 3}, node.KindNMI: {Cases: 1}}, Median: 5, Longest: 6, Within: 10, Took: 60,
	}}}
	all.record(result{Name: rows[0].name, Columns: map[node.OperationKind]cell{node.KindNMI: {Cases: 2, Right: 2}}, Median: 1, Longest: 7, Within: 10, Took: 4}, true)
	require.Equal(t, []result{{
		Name: rows[0].name, Columns: map[node.OperationKind]cell{node.KindPower: {Cases: 3, Right: 3}, node.KindNMI: {Cases: 2, Right: 2}}, Median: 5, Longest: 7, Within: 10, Took: 64,
	}}, all.Rows)
	require.True(t, options{kinds: []string{"inject an NMI"}}.wholeColumns())
	require.False(t, options{kinds: []string{"power on"}}.wholeColumns(), "there are other power changes")
}
