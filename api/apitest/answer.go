package apitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// Answer is what a request got.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	t    testing.TB
	what string // method and path
}

// String returns the method and the path of the request.
func (a *Answer) String() string { return a.what }

// Is asserts the status and returns the body, nil where there is none.
func (a *Answer) Is(status int) map[string]any {
	a.t.Helper()
	require.Equal(a.t, status, a.Status, "%s: %s", a.what, a.Body)
	if len(a.Body) == 0 {
		return nil
	}
	var out map[string]any
	require.NoError(a.t, json.Unmarshal(a.Body, &out), "%s: %s", a.what, a.Body)
	return out
}

// Fails asserts an error in Ironic's shape, and returns its words.
func (a *Answer) Fails(status int) string {
	a.t.Helper()
	body := a.Is(status)
	text, ok := body["error_message"].(string)
	require.True(a.t, ok, "%s: error_message is no string: %s", a.what, a.Body)
	var inner struct {
		Faultcode, Faultstring string
		Debuginfo              *string
	}
	require.NoError(a.t, json.Unmarshal([]byte(text), &inner), text)
	require.Nil(a.t, inner.Debuginfo)
	want := "Client"
	if status >= 500 {
		want = "Server"
	}
	require.Equal(a.t, want, inner.Faultcode)
	return inner.Faultstring
}

// Refusal is what programs read of an error.
type Refusal struct {
	Code fault.Code
	Help []struct{ Command, Effect, Method, Path string }
}

// Refused asserts an error with a code of the table, and returns what programs
// read of it.
func (a *Answer) Refused(status int) Refusal {
	a.t.Helper()
	require.Equal(a.t, status, a.Status, "%s: %s", a.what, a.Body)
	var out Refusal
	require.NoError(a.t, json.Unmarshal(a.Body, &out), "%s: %s", a.what, a.Body)
	require.NotEmpty(a.t, out.Code.Meaning())
	known := slices.ContainsFunc(fault.Codes, func(row fault.CodeRow) bool { return row.Code == out.Code })
	require.True(a.t, known, "%s: %q is not in the table of codes", a.what, out.Code)
	require.NotNil(a.t, out.Help, "%s: %s", a.what, a.Body)
	return out
}

// Commands returns the commands of the help, with what they do.
func (r Refusal) Commands() (out []string) {
	for _, h := range r.Help {
		out = append(out, h.Command+" "+h.Effect)
	}
	return out
}
