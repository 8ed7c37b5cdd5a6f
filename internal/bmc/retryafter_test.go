package bmc_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
	"go.temper.dev/temper/internal/fault"
)

func TestRetryAfterSurvivesWrapping(t *testing.T) {
	cause := errors.New("503")
	err := fmt.Errorf("power on node n1: %w", bmc.Busy(3*time.Second, "the BMC says later: %w", cause))
	require.Equal(t, fault.Busy, fault.KindOf(err))
	require.Equal(t, 3*time.Second, bmc.RetryAfter(err))
	require.ErrorIs(t, err, cause)
	require.Equal(t, "power on node n1: the BMC says later: 503", err.Error())
	require.Zero(t, bmc.RetryAfter(cause))
	require.Zero(t, bmc.RetryAfter(nil))
}
