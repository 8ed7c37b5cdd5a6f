package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/node"
)

func TestTheDatabaseTakesEveryKindOfOperationAndNoOther(t *testing.T) {
	t.Parallel()
	_, url := openURL(t)
	inDatabase := ask[[]node.OperationKind](t, url, `
SELECT array_agg(m[1]) FROM pg_constraint c CROSS JOIN LATERAL regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''::text', 'g') AS m
 WHERE c.conname = 'operations_kind_check'`)
	require.ElementsMatch(t, node.Kinds(), inDatabase)
}
