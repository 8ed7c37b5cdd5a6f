package fault_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/fault"
)

// Errors as Go's network code really makes them.
func TestNoAnswerIsToldInPlainWords(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	released := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-released }))
	t.Cleanup(func() {
		close(released)
		hangs.Close()
	})
	hangsUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(hangsUp.Close)
	get := func(url string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		res, err := (&http.Client{Transport: &http.Transport{}}).Do(req)
		if err == nil {
			_ = res.Body.Close() // there is none
		}
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{get(closed.URL, time.Minute), "the connection was refused: nothing listens there"},
		{get(hangs.URL, time.Millisecond), "no answer in time"},
		{get(hangsUp.URL, time.Minute), "the connection was closed without an answer"},
		{get("https://"+hangsUp.Listener.Addr().String(), time.Minute), "it speaks HTTP, not HTTPS"},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "the connection was closed in the middle of the answer"},
		{&net.DNSError{Err: "no such host", Name: "bmc.example.org", IsNotFound: true}, "no address is known for bmc.example.org"},
		{&net.DNSError{Err: "i/o timeout", Name: "bmc.example.org", IsTimeout: true}, "no answer in time"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "it does not speak TLS"},
		{fmt.Errorf("something else"), "something else"},
	} {
		require.Error(t, c.err)
		require.Equal(t, c.want, fault.NetworkWords(c.err), "%v", c.err)
	}
}
