package dial

import (
	"io"
	"net/http"
)

// Limited returns a transport whose answers have bodies of at most most bytes. Reading more fails with *http.MaxBytesError.
func Limited(t http.RoundTripper, most int64) http.RoundTripper { return limited{t, most} }

type limited struct {
	http.RoundTripper
	most int64
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = limitedBody{http.MaxBytesReader(nil, resp.Body, l.most), resp.Body}
	return resp, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}
