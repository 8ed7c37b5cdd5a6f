package system_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	stacks "go.temper.dev/temper/test/stack"
)

// between is a proxy between agents and the API. It gets each request, and may forward it any number of times. If it returns
// nil, the connection is closed.
type between func(r *http.Request, send func() *answer) *answer

// newProxy starts a proxy and returns its URL, which agents use as the API's.
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
		for k, v := range a.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// pass forwards a request; nil = it got no answer.
func pass(r *http.Request, api string, body []byte) *answer {
	var in any
	if len(body) > 0 {
		in = json.RawMessage(body)
	}
	a, err := stacks.Request(r.Context(), r.Method, api+r.URL.RequestURI(), in, r.Header)
	if err != nil {
		return nil
	}
	return &a
}

// losing drops the answers to the first n requests to paths with this prefix: they take effect, but the agent does not learn
// of it.
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

// twice forwards every request two times and returns the second answer.
func twice(_ *http.Request, send func() *answer) *answer {
	send()
	return send()
}

// valve refuses requests to a path while it is shut: agents are told that the API is busy, and try again.
type valve struct {
	path string

	mu   sync.Mutex
	shut bool
	left int // requests that still pass when it is shut
	away int
}

// shutAfter lets n more requests through.
func (v *valve) shutAfter(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left, v.shut = n, true
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = false
}

// turnedAway returns how many requests were refused.
func (v *valve) turnedAway() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.away
}

func (v *valve) between(r *http.Request, send func() *answer) *answer {
	if strings.HasPrefix(r.URL.Path, v.path) && !v.admits() {
		return &answer{Status: http.StatusServiceUnavailable}
	}
	return send()
}

func (v *valve) admits() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.shut {
		return true
	}
	if v.left > 0 {
		v.left--
		return true
	}
	v.away++
	return false
}
