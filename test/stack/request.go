package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

var web = &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{
	MaxIdleConnsPerHost: 128, MaxConnsPerHost: 128, IdleConnTimeout: 5 * time.Second,
}}

// Answer is the answer to a request, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode decodes the body.
func (a Answer) Decode(into any) error { return json.Unmarshal(a.Body, into) }

// Words returns the sentence in an error's body. Ironic puts JSON into a string of its JSON.
func (a Answer) Words() string {
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner struct {
		Fault string `json:"faultstring"`
	}
	if a.Decode(&outer) == nil && json.Unmarshal([]byte(outer.Message), &inner) == nil {
		return inner.Fault
	}
	return string(a.Body)
}

// Request sends a request with a JSON body; in = nil: without one.
func Request(ctx context.Context, method, url string, in any, header http.Header) (Answer, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return Answer{}, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	res, err := web.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return Answer{Status: res.StatusCode, Header: res.Header, Body: b}, err
}

// Send sends a request to the API, with the newest version that it serves.
func (s *Stack) Send(ctx context.Context, method, path string, body any) (Answer, error) {
	return Request(ctx, method, s.APIURL+path, body, http.Header{"X-OpenStack-Ironic-API-Version": {"latest"}})
}
