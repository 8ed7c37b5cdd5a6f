package fault_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

func TestEveryKindHasACode(t *testing.T) {
	for k := fault.Internal; k <= fault.OutcomeUnknown; k++ {
		code := fault.CodeOf(fault.New(k, "x"))
		require.Equal(t, k, fault.KindOf(fault.Coded(code, "x")), "%s", k)
	}
	seen := map[fault.Code]bool{}
	for _, row := range fault.Codes {
		require.False(t, seen[row.Code], row.Code)
		require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, string(row.Code))
		for _, words := range []string{row.Code.Meaning(), row.Advise} {
			require.Regexp(t, `^[A-Z].*\.$`, words, row.Code)
		}
		seen[row.Code] = true
	}
}

func TestTheOutermostCodeCounts(t *testing.T) {
	locked := fault.Coded(fault.NodeLocked, "held by %s", "c1")
	require.Equal(t, fault.Conflict, fault.KindOf(locked))
	require.Equal(t, fault.NodeLocked, fault.CodeOf(fmt.Errorf("deploy: %w", locked)))
	require.Equal(t, fault.NodeLocked, fault.CodeOf(fault.New(fault.Invalid, "deploy: %w", locked)), "the kind is another one")
	require.Equal(t, fault.ImageInvalid, fault.CodeOf(fault.Coded(fault.ImageInvalid, "deploy: %w", locked)))
	as := fault.CodedAs(fault.NotFound, fault.NodeLocked, "x")
	require.Equal(t, fault.NotFound, fault.KindOf(as))
	require.Equal(t, fault.NodeLocked, fault.CodeOf(as))
	require.Equal(t, fault.InternalError, fault.CodeOf(nil))
	require.Equal(t, fault.InternalError, fault.CodeOf(fmt.Errorf("x")))
}

func TestEveryErrorHasACause(t *testing.T) {
	for k := fault.Internal; k <= fault.OutcomeUnknown; k++ {
		require.Contains(t, fault.Causes(), fault.CauseOf(fault.New(k, "x")), "%s", k)
	}
	silent := fault.Coded(fault.BMCSilent, "no answer")
	require.Equal(t, fault.BMCSilent, fault.CauseOf(fmt.Errorf("step: %w", silent)))
	require.Equal(t, fault.ValidationFailed, fault.CauseOf(fault.New(fault.Invalid, "x")), "not: the request is wrong")
	require.Equal(t, fault.InternalError, fault.CauseOf(fault.Coded(fault.NodeLocked, "x")))
}
