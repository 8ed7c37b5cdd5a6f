package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

func TestKindSurvivesWrapping(t *testing.T) {
	cause := errors.New("no route")
	err := fmt.Errorf("power off node n1: %w", fault.New(fault.Unreachable, "dial bmc: %w", cause))
	require.Equal(t, fault.Unreachable, fault.KindOf(err))
	require.ErrorIs(t, err, cause)
	require.Equal(t, "power off node n1: dial bmc: no route", err.Error())
}

func TestWhatIsSecretInAURLIsNotTold(t *testing.T) {
	raw := &url.Error{Op: "Get", URL: "http://u:SECRET@h/a?sig=SECRET", Err: errors.New("refused")}
	err := fmt.Errorf("deploy: %w", fault.New(fault.Unreachable, "fetch http://SECRET@h/: %w", raw))
	require.Equal(t, `deploy: fetch http://******@h/: Get "http://******@h/a?sig=******": refused`, err.Error())
	require.ErrorIs(t, err, raw)
	require.NotContains(t, fault.Text(fmt.Errorf("deploy: %w", raw)), "SECRET", "also where nobody gave it a kind")
}

func TestUnclassifiedErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"an error nobody classified is ours":        {errors.New("x"), fault.Internal},
		"a deadline is a silent other side":         {fmt.Errorf("get: %w", context.DeadlineExceeded), fault.Unreachable},
		"a failed dial is a silent other side":      {&net.OpError{Op: "dial", Err: errors.New("refused")}, fault.Unreachable},
		"a cancelled context is not the hardware's": {context.Canceled, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, fault.KindOf(c.err)) })
	}
}

func TestEveryKindHasANameThatReadsBack(t *testing.T) {
	for k := fault.Internal; k <= fault.OutcomeUnknown; k++ {
		require.Equal(t, k, fault.ParseKind(k.String()), "kind %d", int(k))
	}
}

func TestWrongPasswordIsNeverRetriedByItself(t *testing.T) {
	require.Equal(t, fault.NeedsOperator, fault.ClassOf(fault.New(fault.Denied, "401")))
	require.Equal(t, fault.NeedsOperator, fault.ClassOf(fault.New(fault.Invalid, "no digest for the image")))
	require.Equal(t, fault.Never, fault.ClassOf(fault.New(fault.Lost, "claim")))
	require.Equal(t, fault.Transient, fault.ClassOf(context.DeadlineExceeded))
}
