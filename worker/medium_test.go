package worker_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/activities/conductor"
	"go.temper.dev/temper/internal/dial"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/worker"
)

func TestAMediumIsAskedForByItsFirstByte(t *testing.T) {
	t.Parallel()
	const refusal = `{"error_message":"{\"faultcode\":\"Client\",\"faultstring\":\"fetch the kernel http://x/vmlinuz: the server answered 404\",\"debuginfo\":null}","code":"ramdisk_unusable","help":[]}`
	status, body := 200, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "bytes=0-0", r.Header.Get("Range"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	ask := worker.AskMedium(dial.Reach{Loopback: true})
	require.NoError(t, ask(t.Context(), s.URL+"/boot/k/n.iso"))
	status = http.StatusPartialContent
	require.NoError(t, ask(t.Context(), s.URL+"/boot/k/n.iso"))
	status = http.StatusServiceUnavailable
	require.True(t, fault.Is(ask(t.Context(), s.URL), fault.Unavailable))
	status, body = http.StatusBadRequest, refusal
	err := ask(t.Context(), s.URL)
	require.Equal(t, fault.RamdiskUnusable, fault.CodeOf(err))
	require.ErrorContains(t, err, "fetch the kernel http://x/vmlinuz: the server answered 404")
	body = "<html>"
	require.ErrorContains(t, ask(t.Context(), s.URL), "it gives no reason (status 400)")

	s.Close()
	require.ErrorIs(t, ask(t.Context(), s.URL), conductor.ErrMediumNotReached)
	require.ErrorIs(t, worker.AskMedium(dial.Reach{})(t.Context(), s.URL), conductor.ErrMediumNotReached, "loopback is refused")
}
