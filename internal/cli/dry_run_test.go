package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/client"
)

func TestADryRunShowsWhatWouldBecomeOfARequest(t *testing.T) {
	s := newSteering(t)
	for _, name := range []string{"n1", "n2", "stuck"} {
		s.does("node create " + name + " --driver fake-hardware")
	}
	s.does("node manage n1 stuck --wait 1m --every 5ms")
	s.does("node provide n1 --wait 1m --every 5ms")
	before := s.does("node list -o json")

	require.Regexp(t, `^NODE  RESULT    STEP +EXPECTED  REASON\nn1    accepted  deploy\.prepare +-  `, s.does("node deploy n1 --dry-run"))
	require.Regexp(t, `(?m)^n1    accepted  power\.off`, s.does("node power reboot n1 --dry-run"))
	require.Equal(t, "NODE  RESULT    STEP  EXPECTED  REASON\nn1    accepted  -     -         -\n", s.does("node manage n1 --dry-run"), "no operation is needed")
	require.Contains(t, s.does("node manage --all-in-state available --dry-run"), "accepted", "nothing is done, so nobody is asked")

	got := ask(t, s.url, "", "node", "deploy", "n1", "n2", "n9", "--dry-run")
	require.Contains(t, got.out, "n1    accepted  deploy.prepare")
	require.Regexp(t, `n2    refused +- +- +The requested action "active" can not be performed on node`, got.out)
	require.Contains(t, got.out, "\nso that n2 accepts it, you can:\n  temper node manage n2  # first makes it manageable\n  temper node provide n2  # then makes it available\n")
	require.ErrorContains(t, got.failed, "2 of 3 failed:\n  n2: the request would be refused\n  n9: Node n9 could not be found")
	require.Equal(t, exit.CodeFailed, exit.Code(got.failed))

	var one struct {
		Accepted bool
		Steps    []struct{ Interface, Step string }
	}
	require.NoError(t, json.Unmarshal([]byte(s.does("node deploy n1 --dry-run -o json")), &one))
	require.True(t, one.Accepted)
	require.Equal(t, "prepare", one.Steps[0].Step)
	var many map[string]struct{ Accepted bool }
	got = ask(t, s.url, "", "node", "deploy", "n1", "n2", "--dry-run", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(got.out), &many))
	require.True(t, many["n1"].Accepted)
	require.Contains(t, many, "n2")
	require.False(t, many["n2"].Accepted)

	for _, with := range []string{"--watch", "--wait 1m"} {
		require.Contains(t, s.fails("node deploy n1 --dry-run "+with), "--dry-run starts nothing that --watch or --wait could follow")
	}
	require.JSONEq(t, before, s.does("node list -o json"), "a dry run has changed something")
}

// A doubt about a request that is accepted comes last, after the steps and after what mends other nodes, and fails nothing.
func TestADoubtIsPrintedLast(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := `{"accepted": true, "refusals": [], "notes": ["a note"], "steps": [{"interface": "deploy", "step": "prepare"}],
			"warnings": [{"code": "image_unreachable", "message": "the image could not be read from here: the server answered 500"}]}`
		if strings.Contains(r.URL.Path, "n2") {
			answer = `{"accepted": false, "refusals": [{"code": "x", "message": "No.", "help": [{"command": "temper node manage n2", "effect": "manages it"}]}], "notes": [], "steps": [], "warnings": []}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	defer api.Close()
	got := ask(t, api.URL, "", "node", "deploy", "n1", "--dry-run")
	require.NoError(t, got.failed)
	const warning = "\nwarning: n1: the image could not be read from here: the server answered 500 (image_unreachable)\n"
	require.True(t, strings.HasSuffix(got.out, warning), got.out)
	require.Contains(t, got.out, "a note")
	got = ask(t, api.URL, "", "node", "deploy", "n1", "n2", "--dry-run")
	require.True(t, strings.HasSuffix(got.out, "temper node manage n2  # manages it\n"+warning), got.out)
	require.Contains(t, ask(t, api.URL, "", "node", "deploy", "n1", "--dry-run", "-o", "json").out, "image_unreachable")
}

// Each refusal is in the list of what helps, so that nobody takes it for complete although it is not.
func TestARefusalThatNoCommandMendsIsTold(t *testing.T) {
	start := client.Help{Command: "temper conductor", Effect: "starts one"}
	lines, commands := mendsOf([]client.Refusal{{Message: "No conductor.", Help: []client.Help{start}}, {Message: "Driver ipmi does not support boot."}, {Message: "None.", Help: []client.Help{start}}})
	require.Equal(t, []string{"  temper conductor  # starts one", "  # no command mends this: Driver ipmi does not support boot"}, lines)
	require.Equal(t, 1, commands)
}

func TestTheSameKeyGetsTheSameOperation(t *testing.T) {
	s := newSteering(t)
	for _, name := range []string{"stuck1", "stuck2"} {
		s.does("node create " + name + " --driver fake-hardware")
	}
	s.does("node manage stuck1 stuck2 --wait 1m --every 5ms")
	s.does("node provide stuck1 stuck2 --wait 1m --every 5ms")
	s.does("node deploy stuck1 --dry-run --idempotency-key monday")
	id := s.started("node deploy stuck1 --idempotency-key monday -o json")
	require.Equal(t, id, s.started("node deploy stuck1 --idempotency-key monday -o json"))
	require.NotEqual(t, id, s.started("node deploy stuck2 --idempotency-key monday -o json"), "a key is one of its node")
	s.does("operation cancel " + id + " --wait 1m --every 5ms")
	require.Equal(t, id, s.started("node deploy stuck1 --idempotency-key monday -o json"), "it has ended, and it is the same request")
	require.Contains(t, s.fails("node deploy stuck1 --on-failure hold --idempotency-key monday"), "idempotency key")

	got := ask(t, s.url, "", "node", "deploy", "stuck1", "--idempotency-key", "")
	require.EqualError(t, got.failed, "--idempotency-key is empty")
	require.Equal(t, exit.CodeUsage, exit.Code(got.failed))
}
