package httpd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"go.temper.dev/temper/internal/fault"
)

// served starts a real server with these routes. deadline is the deadline of requests, and
// http.Server's read and write timeout; 0 = the defaults.
func served(t *testing.T, deadline time.Duration, c Config, table ...Route) (*httptest.Server, *Server) {
	t.Helper()
	c.RequestTimeout, c.Unversioned = deadline, someResources
	s, err := New(c, opened(table))
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(s.Handler())
	web.Config.ReadTimeout, web.Config.WriteTimeout = deadline, deadline
	web.Config.RegisterOnShutdown(s.EndStreams)
	web.Start()
	t.Cleanup(web.Close)
	return web, s
}

// soon is a short deadline, which a test waits for.
const soon = 100 * time.Millisecond

// opened is a table of routes that need no login.
func opened(table []Route) []Route {
	for i := range table {
		table[i] = table[i].Open()
	}
	return table
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// ticking sends a stream of numbers, one with each tick.
func ticking(c *gin.Context, out *Stream) error {
	c.Header("Content-Type", "text/event-stream")
	every := time.NewTicker(20 * time.Millisecond)
	defer every.Stop()
	for n := 1; ; n++ {
		if err := out.Send([]byte(fmt.Sprintf("id: %d\n\n", n))); err != nil {
			return err
		}
		select {
		case <-every.C:
		case <-c.Request.Context().Done():
			return context.Cause(c.Request.Context())
		}
	}
}

func TestAStreamOutlivesTheDeadlinesOfRequests(t *testing.T) {
	const deadline = 2 * time.Second
	web, _ := served(t, deadline, Config{}, GetStream("/temper/v1/ticks", ticking))
	answer := get(t, web.URL+"/temper/v1/ticks")
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	began, lines := time.Now(), bufio.NewScanner(answer.Body)
	for time.Since(began) < 2*deadline {
		require.True(t, lines.Scan(), "the stream ended after %s: %v", time.Since(began), lines.Err())
	}
}

func TestAStreamEndsWhenTheServerStops(t *testing.T) {
	why := make(chan error, 1)
	web, s := served(t, 0, Config{}, GetStream("/temper/v1/ticks", func(c *gin.Context, out *Stream) error {
		err := ticking(c, out)
		why <- err
		return err
	}))
	answer := get(t, web.URL+"/temper/v1/ticks")
	require.True(t, bufio.NewScanner(answer.Body).Scan())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, web.Config.Shutdown(ctx), "it waits for requests")
	_, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err, "the client sees an end, not a broken connection")
	require.ErrorIs(t, <-why, ErrStopping)

	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/temper/v1/ticks", nil))
	require.ErrorIs(t, <-why, ErrStopping, "a new one does not begin")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"), "not that of the stream")
	require.Contains(t, w.Body.String(), `"code":"unavailable"`)
}

// A client may keep sending requests while the server stops. The log must not show these refusals as errors.
func TestARefusalWhileTheServerStopsIsNoErrorInTheLog(t *testing.T) {
	for name, returned := range map[string]func(context.Context) error{"the cause": context.Cause, "the context's error": context.Context.Err} {
		t.Run(name, func(t *testing.T) {
			core, logs := observer.New(zap.InfoLevel)
			s, err := New(Config{Log: zap.New(core)}, opened([]Route{GetStream("/temper/v1/ticks", func(c *gin.Context, _ *Stream) error {
				<-c.Request.Context().Done()
				return fmt.Errorf("read events: %w", returned(c.Request.Context()))
			})}))
			require.NoError(t, err)
			s.EndStreams()
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/temper/v1/ticks", nil))
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			refused := logs.FilterMessage("request refused").All()
			require.Len(t, refused, 1)
			require.Equal(t, zap.InfoLevel, refused[0].Level)
			require.Zero(t, logs.FilterLevelExact(zap.ErrorLevel).Len())
		})
	}
}

// Anybody may send requests to open routes until they are busy.
func TestARefusalOfWhatIsBusyIsNoErrorInTheLog(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	s, err := New(Config{Log: zap.New(core)}, opened([]Route{Get("/temper/v1/busy", 0, func(*gin.Context) (int, any, error) {
		return 0, nil, fmt.Errorf("take it: %w", fault.New(fault.Busy, "too many"))
	})}))
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/temper/v1/busy", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	refused := logs.FilterMessage("request refused").All()
	require.Len(t, refused, 1)
	require.Equal(t, zap.InfoLevel, refused[0].Level)
	require.Zero(t, logs.FilterLevelExact(zap.ErrorLevel).Len())
}

func TestAStreamWithoutReadersEnds(t *testing.T) {
	for name, size := range map[string]int{"large pieces": 1 << 20, "small pieces, which fail when they are flushed": 1000} {
		t.Run(name, func(t *testing.T) { endsWithoutReaders(t, size) })
	}
}

func endsWithoutReaders(t *testing.T, size int) {
	why := make(chan error, 1)
	web, _ := served(t, 0, Config{StreamWriteTimeout: soon}, GetStream("/temper/v1/flood", func(_ *gin.Context, out *Stream) error {
		much := bytes.Repeat([]byte("x"), size)
		for {
			if err := out.Send(much); err != nil {
				why <- err
				return err
			}
		}
	}))
	var dialer net.Dialer
	mute, err := dialer.DialContext(t.Context(), "tcp", web.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = mute.Close() }()
	_, err = mute.Write([]byte("GET /temper/v1/flood HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	require.ErrorIs(t, <-why, os.ErrDeadlineExceeded)
}

func TestAStreamThatSaysNothingEnds(t *testing.T) {
	why := make(chan error, 1)
	web, _ := served(t, 0, Config{StreamIdleTimeout: soon}, GetStream("/temper/v1/silence", func(c *gin.Context, out *Stream) error {
		<-c.Request.Context().Done()
		err := out.Send([]byte("too late"))
		why <- err
		return err
	}))
	answer := get(t, web.URL+"/temper/v1/silence")
	require.ErrorIs(t, <-why, ErrIdleStream)
	require.Equal(t, http.StatusInternalServerError, answer.StatusCode, "nothing was sent, so it is answered as an error")
}

func TestAStreamEndsWithItsClient(t *testing.T) {
	why := make(chan error, 1)
	web, _ := served(t, 0, Config{}, GetStream("/temper/v1/ticks", func(c *gin.Context, out *Stream) error {
		err := ticking(c, out)
		why <- err
		return err
	}))
	answer := get(t, web.URL+"/temper/v1/ticks")
	require.True(t, bufio.NewScanner(answer.Body).Scan())
	require.NoError(t, answer.Body.Close())
	require.Error(t, <-why)
}

func TestAStreamRefusesAsOtherRoutesDo(t *testing.T) {
	web, _ := served(t, 0, Config{}, GetStream("/temper/v1/nosuch", func(*gin.Context, *Stream) error {
		return fault.New(fault.NotFound, "There is no such thing.")
	}))
	answer := get(t, web.URL+"/temper/v1/nosuch")
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "There is no such thing.")
}

func TestARequestStillHasADeadline(t *testing.T) {
	s, err := New(Config{RequestTimeout: soon}, opened([]Route{Get("/temper/v1/slow", 0, func(c *gin.Context) (int, any, error) {
		<-c.Request.Context().Done()
		return http.StatusOK, gin.H{"why": context.Cause(c.Request.Context()).Error()}, nil
	})}))
	require.NoError(t, err)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/temper/v1/slow", nil))
	require.Contains(t, w.Body.String(), context.DeadlineExceeded.Error())
}

func TestPagesAndFilesBesideTheAPI(t *testing.T) {
	files := http.FileServerFS(fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><title>Temper</title>")}, "app.css": {Data: []byte("body {}")},
	})
	page := func(*gin.Context) (int, any, error) { return 0, http.StripPrefix("/ui", files), nil }
	node := func(c *gin.Context) (int, any, error) { return http.StatusOK, gin.H{"path": c.Request.URL.Path}, nil }
	web, _ := served(t, 0, Config{}, Get("/ui/*path", 0, page).Open(), Get("/v1/nodes/:node", 1, node).Open())
	for path, want := range map[string]struct {
		status          int
		kind, body, min string
	}{
		"/ui/":         {200, "text/html; charset=utf-8", "<title>Temper</title>", ""},
		"/ui/app.css":  {200, "text/css; charset=utf-8", "body {}", ""},
		"/ui/nosuch":   {404, "text/plain; charset=utf-8", "404 page not found", ""},
		"/nodes/a":     {200, "application/json; charset=utf-8", `{"path":"/v1/nodes/a"}`, "1.1"},
		"/favicon.ico": {404, "application/json; charset=utf-8", "The resource could not be found.", ""},
	} {
		answer := get(t, web.URL+path)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, want.status, answer.StatusCode, path)
		require.Equal(t, want.kind, answer.Header.Get("Content-Type"), path)
		require.Contains(t, string(body), want.body, path)
		require.Equal(t, want.min, answer.Header.Get("X-OpenStack-Ironic-API-Version"), path)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/ui/app.css", nil)
	require.NoError(t, err)
	r.Header.Set("Range", "bytes=0-3")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusPartialContent, answer.StatusCode)
	require.Equal(t, "body", strings.TrimSpace(string(body)))
}
