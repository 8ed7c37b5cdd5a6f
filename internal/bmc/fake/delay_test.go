package fake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/bmc/fake"
	"go.temper.dev/temper/internal/fault"
)

func TestParseDelay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text     string
		min, max time.Duration
	}{
		"nothing is no delay":               {"", 0, 0},
		"zero is no delay":                  {"0", 0, 0},
		"a number is seconds":               {"3", 3 * time.Second, 3 * time.Second},
		"seconds may have a fraction":       {"0.25", 250 * time.Millisecond, 250 * time.Millisecond},
		"two numbers are a range":           {"1,10", time.Second, 10 * time.Second},
		"blanks do not matter":              {" 1 , 2 ", time.Second, 2 * time.Second},
		"units are understood":              {"250ms,1m", 250 * time.Millisecond, time.Minute},
		"a range may be a single time":      {"2,2", 2 * time.Second, 2 * time.Second},
		"a range may begin with no delay":   {"0,1", 0, time.Second},
		"a day is the longest that is told": {"86400", 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := fake.ParseDelay(c.text)
			require.NoError(t, err)
			require.Equal(t, fake.Delay{Min: c.min, Max: c.max}, d)
		})
	}
}

func TestParseDelayRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a word":                 "soon",
		"a negative number":      "-1",
		"a range that runs back": "5,1",
		"three numbers":          "1,2,3",
		"half a range":           "1,",
		"not a number":           "NaN",
		"infinity":               "Inf",
		"more than a day":        "86401",
		"more than fits":         "1e300",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fake.ParseDelay(text)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
		})
	}
}

func FuzzParseDelay(f *testing.F) {
	for _, s := range []string{"", "1", "1,10", "0.5,2s", "1,2,3", "-1", "1e9"} {
		f.Add(s, 0.5)
	}
	f.Fuzz(func(t *testing.T, s string, u float64) {
		d, err := fake.ParseDelay(s)
		if err != nil {
			require.LessOrEqual(t, len(err.Error()), 400)
			return
		}
		require.True(t, 0 <= d.Min && d.Min <= d.Max && d.Max <= 24*time.Hour, "%+v", d)
		if u >= 0 && u < 1 {
			require.True(t, d.Min <= d.At(u) && d.At(u) <= d.Max, "%s at %g", d.At(u), u)
		}
	})
}

func TestARandomDelayIsMostOftenNearItsBeginning(t *testing.T) {
	t.Parallel()
	d := fake.Delay{Min: time.Second, Max: 11 * time.Second}
	require.Equal(t, time.Second, d.At(0))
	var sum time.Duration
	const n = 1000
	for i := range n {
		at := d.At(float64(i) / n)
		require.True(t, at >= d.Min && at <= d.Max)
		sum += at
	}
	// The mean of a triangle from 1 to 11 whose mode is 1 is (1+1+11)/3.
	require.InDelta(t, 13.0/3, (sum / n).Seconds(), 0.05)
}

func TestParseDelays(t *testing.T) {
	t.Parallel()
	settings := map[string]string{}
	for i, name := range fake.Options() {
		require.True(t, strings.HasSuffix(name, "_delay"))
		settings[name] = string(rune('1' + i%9))
	}
	for _, ironic := range []string{
		"power_delay", "boot_delay", "deploy_delay", "vendor_delay", "management_delay", "inspect_delay",
		"raid_delay", "bios_delay", "storage_delay", "rescue_delay", "firmware_delay", "clean_delay",
	} {
		require.Contains(t, fake.Options(), ironic)
	}
	d, err := fake.ParseDelays(settings)
	require.NoError(t, err)
	for i, name := range fake.Options() {
		want := time.Duration(1+i%9) * time.Second
		require.Equal(t, fake.Delay{Min: want, Max: want}, d.For(strings.TrimSuffix(name, "_delay")), name)
	}
	require.Equal(t, fake.Delay{}, d.For("console"), "an interface without a delay has none")

	_, err = fake.ParseDelays(map[string]string{"power_delay": "soon", "teleport_delay": "1", "boot_delay": "1"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.ErrorContains(t, err, "power_delay")
	require.ErrorContains(t, err, "teleport_delay")
}
