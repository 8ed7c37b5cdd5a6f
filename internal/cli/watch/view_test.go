package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/clitest"
	"go.temper.dev/temper/internal/client"
)

// targets makes what is followed of operations as the API shows them.
func targets(t *testing.T, ops ...map[string]any) []*Target {
	t.Helper()
	var all []*Target
	for i, o := range ops {
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		one := &Target{Name: fmt.Sprintf("node-%d", i+1), ID: o["id"].(string), Op: &client.Operation{}}
		require.NoError(t, json.Unmarshal(raw, one.Op))
		if one.Done = one.Op.Ended(); one.Done {
			one.Err = outcomeError(one.Op, Succeed)
		}
		all = append(all, one)
	}
	return all
}

func TestThePictureFitsTheTerminal(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 15, 0, time.UTC)
	var steps []string
	for i := range 40 {
		state := "pending"
		if i < 20 {
			state = "done c1"
		} else if i == 20 {
			state = "running c2"
		}
		steps = append(steps, fmt.Sprintf("deploy.step_%02d %s", i, state))
	}
	long := clitest.With(clitest.Operation("7", "deploy", "running", steps...), "error", strings.Repeat("long words ", 50))
	var many []map[string]any
	for i := range 100 {
		state := []string{"running", "ended:succeeded", "ended:failed"}[i%3]
		many = append(many, clitest.Operation(fmt.Sprint(i+1), "manage", state, "power.verify running c1"))
	}
	for name, all := range map[string][]*Target{
		"one": targets(t, long), "many": targets(t, many...), "none": nil, "not seen yet": {{Name: "n1", ID: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for height := 2; height < 60; height += 3 {
				lines := picture(all, now, height)
				require.LessOrEqual(t, len(lines), max(height, 4), "height %d", height)
				for _, l := range lines {
					for _, width := range []int{20, 80} {
						require.LessOrEqual(t, len([]rune(l.render(width, false))), width-1)
					}
				}
			}
		})
	}
	text := func(lines []line) string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l.render(200, false) + "\n")
		}
		return b.String()
	}
	require.Contains(t, text(picture(targets(t, long), now, 10)), "deploy.step_20", "the present step is off the picture")
	summary := text(picture(targets(t, many...), now, 10))
	require.Contains(t, summary, "34 under way, 33 succeeded, 33 failed")
	require.True(t, strings.HasPrefix(summary, "✗"), "what failed comes first:\n"+summary)
	require.Contains(t, summary, "and 92 more")
}

func TestThePictureIsDrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	v := &liveView{
		fit: strings.Clone,
		out: &out, size: func() (int, int) { return 60, 24 }, now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 8, 0, time.UTC) },
	}
	v.update(targets(t, clitest.Operation("7", "deploy", "running", "deploy.prepare running c1", "deploy.boot pending")))
	require.Equal(t, "\r\x1b[J▸ node-1  deploy 7  running  3s\n  ▸ deploy.prepare                      c1\n  · deploy.boot\n", out.String())
	out.Reset()
	v.colour = true
	v.update(targets(t, clitest.Operation("7", "deploy", "ended:succeeded", "deploy.prepare done c1", "deploy.boot done c2")))
	require.Equal(t, "\x1b[3A\r\x1b[J\x1b[32m✓ node-1  deploy 7  succeeded  12s\x1b[0m\n"+
		"\x1b[32m  ✓ deploy.prepare                      c1\x1b[0m\n\x1b[32m  ✓ deploy.boot                         c2\x1b[0m\n", out.String())
}

func TestThePictureOfWhatHasEndedStandsStill(t *testing.T) {
	for _, now := range clitest.Afterwards {
		var shown strings.Builder
		for _, l := range picture(targets(t, clitest.Interrupted()), now, 20) {
			shown.WriteString(l.render(200, false) + "\n")
		}
		require.Contains(t, shown.String(), "c2  10s\n")
		require.NotRegexp(t, `deploy\.end.*\ds`, shown.String())
	}
}

func TestALineTellsAnErrorOnce(t *testing.T) {
	op := func(state, step string) map[string]any {
		o := clitest.Operation("7", "deploy", state, "deploy.prepare "+step+" c1")
		one := o["steps"].([]map[string]any)[0]
		one["last_error"], one["failures"], one["limit"] = "no answer in time.", 1, 5
		return o
	}
	waits := clitest.With(op("running", "running"), "step_wait", map[string]any{"sentence": "the BMC has not answered since 03:04:05Z (no answer in time)"})
	all := append(targets(t, waits, op("undoing", "failed")), targets(t, clitest.With(op("ended:failed", "failed"), "error", "no answer in time."))...)
	var out bytes.Buffer
	v := NewLineView(&out, strings.Clone)
	one := &Target{Name: "n1", ID: "7"}
	for _, next := range all {
		one.Op = next.Op
		v.update([]*Target{one})
	}
	require.Equal(t, "n1: deploy 7 running, step 1 of 1: deploy.prepare on c1, failed 1 of 5: the BMC has not answered since 03:04:05Z (no answer in time)\n"+
		"n1: deploy 7 undoing, step 1 of 1: deploy.prepare on c1, failed after no answer in time\n"+
		"n1: deploy 7 failed\n", out.String())
	var shown strings.Builder
	for _, l := range picture(targets(t, waits), time.Now(), 20) {
		shown.WriteString(l.text)
	}
	require.Equal(t, 1, strings.Count(shown.String(), "no answer in time"), shown.String())
}
