package system_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// between stands between agents and the API. It gets each request and sends it on, or not, as often as it likes; nil
// cuts the connection.
type between func(r *http.Request, send func() *answer) *answer

// newProxy is a URL that agents take for the API's.
func newProxy(t *testing.T, api string, b between) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		a := b(r, func() *answer { return pass(r, api, body) })
		if a == nil {
			panic(http.ErrAbortHandler)
		}
		for k, v := range a.header {
			w.Header()[k] = v
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// pass sends a request on; nil = it got no answer.
func pass(r *http.Request, api string, body []byte) *answer {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, api+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil
	}
	out.Header = r.Header.Clone()
	res, err := web.Do(out)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil
	}
	return &answer{status: res.StatusCode, header: res.Header, body: b}
}

// losing loses the answers to the first n requests to paths that begin so: they take effect, and the agent never knows.
func losing(path string, n int) between {
	var mu sync.Mutex
	return func(r *http.Request, send func() *answer) *answer {
		a := send()
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(r.URL.Path, path) && n > 0 {
			n--
			return nil
		}
		return a
	}
}

// twice sends every request two times and shows the agent the second answer.
func twice(_ *http.Request, send func() *answer) *answer {
	send()
	return send()
}
