package bmc_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc"
)

func TestAFixedTimeIsBetweenASecondAndAMinute(t *testing.T) {
	for _, c := range []struct {
		value any
		want  time.Duration // below 0 = it is refused
	}{
		{nil, 0},
		{"", 0},
		{9.0, 9 * time.Second},
		{9, 9 * time.Second},
		{"1.5", 1500 * time.Millisecond},
		{json.Number("60"), time.Minute},
		{0.5, -1},
		{61, -1},
		{"soon", -1},
		{"NaN", -1},
		{true, -1},
		{json.Number("1e400"), -1},
	} {
		got, err := bmc.FixedTimeout(map[string]any{bmc.PropRequestTimeout: c.value})
		if c.want < 0 {
			require.ErrorContains(t, err, "bmc_request_timeout is not a number of seconds from 1 to 60", "%v", c.value)
			continue
		}
		require.NoError(t, err, "%v", c.value)
		require.Equal(t, c.want, got, "%v", c.value)
	}
}
