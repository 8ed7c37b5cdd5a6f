package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var web = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 5 * time.Second}}

// answer is what an HTTP request got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// words returns the sentence in an error's body. Ironic puts JSON into a string of its JSON.
func (a answer) words() string {
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Fault string `json:"faultstring"`
	}
	if json.Unmarshal(a.body, &outer) == nil && json.Unmarshal([]byte(outer.Message), &inner) == nil {
		return inner.Fault
	}
	return string(a.body)
}

// commands returns the commands in the refusal's help, a line each.
func (a answer) commands() string {
	var body struct {
		Help []struct{ Command string }
	}
	if json.Unmarshal(a.body, &body) != nil {
		return ""
	}
	var lines []string
	for _, h := range body.Help {
		lines = append(lines, h.Command)
	}
	return strings.Join(lines, "\n")
}

func (a answer) decode(into any) error { return json.Unmarshal(a.body, into) }

// request is one HTTP request with a JSON body, or none.
func request(method, url string, in any, header http.Header) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), web.Timeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return answer{}, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := web.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return answer{status: res.StatusCode, header: res.Header, body: b}, err
}

// ask sends a request to the API with the newest version that it serves.
func (s *stack) ask(method, path string, in any) (answer, error) {
	return s.askAs("1.114", method, path, in)
}

func (s *stack) askAs(version, method, path string, in any) (answer, error) {
	h := http.Header{}
	h.Set("X-OpenStack-Ironic-API-Version", version)
	return request(method, s.at.APIURL+path, in, h)
}

// read sends a GET that must succeed.
func (s *stack) read(path string, into any) error {
	a, err := s.ask(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("GET %s: %d: %s", path, a.status, a.words())
	}
	return a.decode(into)
}

// must sends a request that must get this status.
func (s *stack) must(t *testing.T, status int, method, path string, in any) answer {
	t.Helper()
	a, err := s.ask(method, path, in)
	require.NoError(t, err)
	require.Equal(t, status, a.status, "%s %s: %s", method, path, a.words())
	return a
}
