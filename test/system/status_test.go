package system_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// statusWithin is how long anybody waits for the status and for an explanation, whatever is frozen.
const statusWithin = 5 * time.Second

// status is what GET /temper/v1/status answers.
type status struct {
	OK     bool
	Broken []string
	Parts  []struct {
		Name, Message, Works string
		OK                   *bool
		Since                *time.Time
		Versions             []string
	}
}

func (s *status) String() string {
	b, err := json.MarshalIndent(s, "", "  ")
	return fmt.Sprint(string(b), err)
}

// message returns what the status says of a part.
func (s *status) message(part string) string {
	for _, p := range s.Parts {
		if p.Name == part {
			return p.Message
		}
	}
	return ""
}

// promptly asks the API until there is an answer in time. What waits for something that is frozen never has one; on a busy
// machine not every answer has to be in time.
func (s *stack) promptly(t *testing.T, path string) (code int, body []byte) {
	t.Helper()
	eventually(t, patience, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), statusWithin)
		defer cancel()
		a, err := s.Send(ctx, http.MethodGet, path, nil)
		code, body = a.Status, a.Body
		return err
	})
	return code, body
}

func (s *stack) status(t *testing.T) *status {
	t.Helper()
	code, body := s.promptly(t, "/temper/v1/status")
	require.Equal(t, http.StatusOK, code, "%s", body)
	var out status
	require.NoError(t, json.Unmarshal(body, &out), "%s", body)
	return &out
}

// run runs a command of the command line, and returns its exit code and all of its output.
func (s *stack) run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := s.Command(ctx, args...)
	b, _ := cmd.CombinedOutput() // its error is the exit code
	return cmd.ProcessState.ExitCode(), string(b)
}

// broken waits until this part is broken, or none if it is "". Each answer on the way comes in time.
func (s *stack) broken(t *testing.T, part string) (now *status) {
	t.Helper()
	tick := time.Tick(look)
	for began := time.Now(); ; <-tick {
		if now = s.status(t); part == "" && now.OK || slices.Contains(now.Broken, part) {
			return now
		}
		require.Less(t, time.Since(began), patience, "%s", now)
	}
}

// Whatever is frozen, the status names it in time, and so does what explains a node.
func TestTheStatusNamesWhatIsFrozen(t *testing.T) {
	t.Parallel()
	s := own(t, 1, "--restart")
	n := in(t, s, "")
	s.broken(t, "")
	code, out := s.run(t, "status")
	require.Zero(t, code, out)
	require.True(t, strings.HasPrefix(out, "all parts of Temper work\n"), out)
	all := s.status(t)
	require.True(t, all.OK, all)
	for _, p := range all.Parts {
		if p.Name != "reconciliation" && p.Name != "clocks" {
			require.NotEmpty(t, p.Versions, p.Name)
		}
	}
	if t.Failed() {
		return
	}

	t.Run("Temporal", func(t *testing.T) {
		wake := s.stops(t, "temporal")
		defer wake()
		st := s.status(t)
		require.Contains(t, st.Broken, "temporal", st)
		require.NotContains(t, st.Broken, "postgresql", st)
		require.NotContains(t, st.Broken, "orchestrators", "they are alive: %s", st)
		require.NotContains(t, st.Broken, "conductors", "they are alive: %s", st)
		code, body := s.promptly(t, "/temper/v1/nodes/"+n.uuid+"/why")
		require.Equal(t, http.StatusOK, code, "%s", body)
		require.Contains(t, string(body), "Temporal does not answer since ")
		require.NotContains(t, string(body), "orchestrator")
		code, out := s.run(t, "status")
		require.Equal(t, 1, code, out)
		require.True(t, strings.HasPrefix(out, "temporal: Temporal does not answer, since "), out)
		require.Contains(t, out, "still works: nodes can be read and changed")
		require.Regexp(t, `(?m)^  check: This API tries 127\.0\.0\.1:\d+ \(setting temporal_address\)`, out)
		code, body = s.promptly(t, "/temper/v1/readyz")
		require.Equal(t, http.StatusServiceUnavailable, code)
		require.Contains(t, string(body), `"reasons":["Temporal does not answer"]`, "the words are the same")
	})
	s.awaitReady(t)

	t.Run("PostgreSQL", func(t *testing.T) {
		wake := s.stops(t, "postgres")
		defer wake()
		st := s.status(t)
		require.Contains(t, st.Broken, "postgresql", st)
		require.NotContains(t, st.Broken, "orchestrators", "nothing is known of them: %s", st)
		require.Equal(t, "not known while PostgreSQL does not answer", st.message("conductors"))
		code, body := s.promptly(t, "/temper/v1/nodes/"+n.uuid+"/why")
		require.Equal(t, http.StatusServiceUnavailable, code, "%s", body)
		// A request whose time is over can not tell a database that is frozen from one that is slow; the status above does.
		require.Regexp(t, "database_(unavailable|timeout)", string(body))
		code, out := s.run(t, "node", "list", "--timeout", "4s")
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "PostgreSQL does not answer, since ")
	})
	s.awaitReady(t)

	t.Run("the orchestrator", func(t *testing.T) {
		wake := s.stops(t, "orchestrator")
		defer wake()
		st := s.broken(t, "orchestrators")
		require.Contains(t, st.message("orchestrators"), "no orchestrator runs")
		require.NotContains(t, st.Broken, "temporal", st)
		code, body := s.promptly(t, "/temper/v1/nodes/"+n.uuid+"/why")
		require.Equal(t, http.StatusOK, code, "%s", body)
		require.Contains(t, string(body), "No orchestrator")
	})
	s.broken(t, "")

	t.Run("a conductor", func(t *testing.T) {
		s.signal(t, "conductor-1", syscall.SIGSTOP)
		defer s.signal(t, "conductor-1", syscall.SIGCONT)
		st := s.broken(t, "conductors")
		require.Equal(t, "1 of 2 are dead: conductor-1", st.message("conductors"))
	})
	s.broken(t, "")
}

// Without an API the command line itself says what is broken.
func TestTheStatusWithoutAnAPI(t *testing.T) {
	t.Parallel()
	program, err := temper()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "status", "-o", "json", "--api", "http://127.0.0.1:1")
	out, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	var st status
	require.NoError(t, json.Unmarshal(out, &st), "%s", out)
	require.False(t, st.OK)
	require.Contains(t, st.message("api"), "can not be reached: connection refused")
}
