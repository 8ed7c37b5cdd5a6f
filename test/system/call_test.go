package system_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	stacks "go.temper.dev/temper/test/stack"
)

// answerWithin is how long an answer may take.
const answerWithin = 30 * time.Second

type answer = stacks.Answer

// commands returns the commands in a refusal's help, a line each.
func commands(a answer) string {
	var body struct {
		Help []struct{ Command string }
	}
	if a.Decode(&body) != nil {
		return ""
	}
	var lines []string
	for _, h := range body.Help {
		lines = append(lines, h.Command)
	}
	return strings.Join(lines, "\n")
}

// request sends one request to whatever serves at url.
func request(method, url string, in any, header http.Header) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return stacks.Request(ctx, method, url, in, header)
}

// ask sends a request to the API with the newest version that it serves.
func (s *stack) ask(method, path string, in any) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return s.Send(ctx, method, path, in)
}

// read sends a GET that must succeed.
func (s *stack) read(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return s.Call(ctx, http.MethodGet, path, nil, into)
}

// must sends a request that must get this status.
func (s *stack) must(t *testing.T, status int, method, path string, in any) answer {
	t.Helper()
	a, err := s.ask(method, path, in)
	require.NoError(t, err)
	require.Equal(t, status, a.Status, "%s %s: %s", method, path, a.Words())
	return a
}
