package store_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/sqltest"
)

// operationHome is the file that has every statement that writes an operation's state.
const operationHome = "internal/store/operation_changes.go"

// Tests may write any state, also those in packages that only tests import.
func TestAnOperationsStateIsWrittenInOneFile(t *testing.T) {
	t.Parallel()
	files, err := sqltest.Tree("../..")
	require.NoError(t, err)
	opens, changes := false, false
	for file, writes := range files {
		for _, w := range writes {
			inserts := w.Verb == sqltest.Insert && w.Table == "operations"
			updates := w.Verb == sqltest.Update && (w.Table == "operations" || w.Table == "") && slices.Contains(sqltest.OperationColumns, w.Column)
			switch {
			case file == operationHome:
				opens, changes = opens || inserts, changes || updates
			case inserts || updates:
				t.Errorf("%s: %s. The statements that write the state of an operation stand in %s alone, by node.OperationRules", file, w, operationHome)
			}
		}
	}
	require.True(t, opens && changes, "%s writes the state of no operation", operationHome)
}
