//go:build linux

package imagewriter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"go.temper.dev/temper/internal/agent/failure"
	"go.temper.dev/temper/internal/mask"
)

// stallLimit is how long a download may receive no bytes (ironic-python-agent, image_download_connection_timeout).
const stallLimit = 60 * time.Second

var errStalled = errors.New("Timed out reading next chunk from webserver") //nolint:staticcheck // the agent's words

// open opens the first URL that answers.
func (w *Writer) open(ctx context.Context, i Image) (*http.Response, error) {
	var tried []string
	for _, u := range i.URLs {
		res, err := w.get(ctx, u, i)
		if err == nil {
			return res, nil
		}
		tried = append(tried, fmt.Sprintf("URL: %s. Error: %s", mask.URLs(u), mask.URLs(err.Error())))
	}
	return nil, failure.Download("Download of image %s failed: %s", i.ID, strings.Join(tried, "; "))
}

func (w *Writer) get(ctx context.Context, u string, i Image) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // the digest is that of the file
	if i.Authorization != "" {
		req.Header.Set("Authorization", "Basic "+i.Authorization)
	}
	res, err := w.client(i).Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		return nil, fmt.Errorf("Received status code %d, expected 200", res.StatusCode) //nolint:staticcheck // the agent's words
	}
	return res, nil
}

// client returns the client for an image: with the proxies that it names, if any.
func (w *Writer) client(i Image) *http.Client {
	if len(i.Proxies) == 0 {
		return w.Client
	}
	proxy := (&httpproxy.Config{HTTPProxy: i.Proxies["http"], HTTPSProxy: i.Proxies["https"], NoProxy: i.NoProxy}).ProxyFunc()
	transport, ok := w.Client.Transport.(*http.Transport)
	if !ok {
		transport, _ = http.DefaultTransport.(*http.Transport)
	}
	transport = transport.Clone()
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	return &http.Client{Transport: transport}
}

// source is the body of a download: it counts and digests what passes, and ends the download if nothing arrives for stallLimit.
type source struct {
	body   io.Reader
	watch  *time.Timer
	passed func([]byte)
}

func (s source) Read(b []byte) (int, error) {
	n, err := s.body.Read(b)
	if n > 0 {
		s.watch.Reset(stallLimit)
		s.passed(b[:n])
	}
	return n, err
}
