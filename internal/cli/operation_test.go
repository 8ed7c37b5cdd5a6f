package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/clitest"
	"go.temper.dev/temper/internal/client"
)

// Why somebody has ended an operation is told by the step that took so long.
func TestAStepThatWasEndedSaysWhyItTookSoLong(t *testing.T) {
	now := time.Now()
	o := &client.Operation{AcceptedAt: &now, EndedAt: &now, Steps: []client.Step{{Interface: "deploy", Step: "write_image", State: "cancelled", Cause: "image_server_slow"}}}
	require.Contains(t, stepTable(o, nil, now).String(), "it took unusually long: The image server sends too slowly")
	o.Steps[0].State = "done"
	require.NotContains(t, stepTable(o, nil, now).String(), "unusually long")
}

// How often a step may fail is told only as long as it is tried again, or has failed so often.
func TestAFailureThatIsNotTriedAgainHasNoLimit(t *testing.T) {
	for want, s := range map[string]client.Step{
		"1, 1 failed":      {State: "failed", Attempts: 1, Failures: 1, Limit: 5},
		"2, failed 1 of 5": {State: "running", Attempts: 2, Failures: 1, Limit: 5},
		"6, failed 5 of 5": {State: "failed", Attempts: 6, Failures: 5, Limit: 5},
		"1":                {State: "running", Attempts: 1, Limit: 5},
	} {
		require.Equal(t, want, describeAttempts(s))
	}
}

// The error is told once, however many lines it is the reason of.
func TestAnErrorIsShownOnce(t *testing.T) {
	o := clitest.With(clitest.Operation("7", "deploy", "ended:failed", "deploy.prepare done", "deploy.write_image failed"), "error", "no disk fits.")
	o["steps"].([]map[string]any)[1]["last_error"] = "no disk fits."
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/timeline") {
			_, _ = io.WriteString(w, `{"timeline":[{"at":"2026-01-02T03:04:07+00:00","what":"step","text":"step deploy.write_image: failed: no disk fits in 2 s"},
				{"at":"2026-01-02T03:04:17+00:00","what":"ended","text":"deploy failed after 12 s: no disk fits"}]}`)
			return
		}
		_ = json.NewEncoder(w).Encode(o)
	})
	got := ask(t, api, "", "operation", "show", "7")
	require.NoError(t, got.failed)
	require.Equal(t, 1, strings.Count(got.out, "no disk fits"), got.out)
	require.Regexp(t, `(?m)^2     deploy\.write_image  failed .* the error above$`, got.out)
	require.Contains(t, got.out, "step deploy.write_image: failed in 2 s\n")
	require.Contains(t, got.out, "deploy failed after 12 s\n")
}

// Who reads that an attempt failed is told why, also if the step is done by now, and if its error stands above.
func TestAStepThatFailedBeforeSaysWhy(t *testing.T) {
	o := &client.Operation{Error: "no disk.", Steps: []client.Step{
		{Interface: "power", Step: "off", State: "done", Attempts: 2, Failures: 1}, {Interface: "deploy", Step: "deploy", State: "failed", LastError: "no disk"},
	}}
	timeline := []client.Moment{{What: "failed", Text: "an attempt at step power.off failed: no answer"}, {What: "taken up", Text: "taken up"}}
	words := stepTable(o, timeline, time.Now()).String()
	require.Contains(t, words, "before: no answer")
	require.Contains(t, words, "the error above")
	require.NotContains(t, stepTable(o, nil, time.Now()).String(), "before")
}
