package dial_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/dial"
)

func TestAnAnswerIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.Path)))
	}))
	defer web.Close()
	client := http.Client{Transport: dial.Limited(http.DefaultTransport, 5)}
	read := func(path string) (string, error) {
		answer, err := client.Get(web.URL + path)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		b, err := io.ReadAll(answer.Body)
		return string(b), err
	}
	whole, err := read("/1234")
	require.NoError(t, err)
	require.Equal(t, "xxxxx", whole)
	cut, err := read("/12345")
	require.ErrorAs(t, err, new(*http.MaxBytesError))
	require.Equal(t, "xxxxx", cut)
}
