package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/store"
)

// A column that is added to the schema fails this test until the list of its table's columns
// has it too.
func TestTheProgramKnowsTheColumnsOfTheDatabase(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	for name, columns := range store.Columns() {
		have := ask[[]string](t, url, `SELECT array_agg(column_name::text ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`, name)
		require.Equal(t, have, columns, "table %s", name)
	}
}
