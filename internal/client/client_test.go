package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
)

// golden is an answer of the API.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	return raw
}

// serve runs an API that answers with h, and gives a client of it.
func serve(t testing.TB, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return dial(t, client.Config{URL: s.URL, Timeout: 5 * time.Second})
}

func dial(t testing.TB, config client.Config) *client.Client {
	t.Helper()
	c, err := client.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// always answers with one status and body.
func always(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

func TestEveryRequestSaysItsVersionAndWhoAsks(t *testing.T) {
	var seen http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		_, _ = w.Write(golden(t, "node"))
	}))
	defer s.Close()
	at, err := url.Parse(s.URL + "/v1/")
	require.NoError(t, err)
	at.User = url.UserPassword("ada", "se:cret")
	c := dial(t, client.Config{URL: at.String()})
	n, err := c.Node(t.Context(), "sim-0001")
	require.NoError(t, err)
	require.Equal(t, "sim-0001", n.Name)
	require.Equal(t, "1.114", seen.Get("X-OpenStack-Ironic-API-Version"))
	require.Equal(t, s.URL, c.URL(), "credentials are shown")
	r := http.Request{Header: seen}
	user, password, ok := r.BasicAuth()
	require.True(t, ok)
	require.Equal(t, []string{"ada", "se:cret"}, []string{user, password})
}

func TestAddressesOfAPIs(t *testing.T) {
	for address, want := range map[string]string{
		"http://api":                     "http://api",
		"https://api:6385/":              "https://api:6385",
		"http://api/v1":                  "http://api",
		"http://proxy/baremetal/v1/":     "http://proxy/baremetal",
		" http://api ":                   "http://api",
		"api:6385":                       "",
		"ftp://api":                      "",
		"":                               "",
		"http://user:hunter2@bad host/x": "",
	} {
		t.Run(address, func(t *testing.T) {
			c, err := client.New(client.Config{URL: address})
			if want == "" {
				require.Error(t, err)
				require.NotContains(t, err.Error(), "hunter2")
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, c.URL())
		})
	}
}

func TestNamesStayOneSegmentOfThePath(t *testing.T) {
	for _, name := range []string{"a b", "a/b", "a?b=c", "a#b", "..", ".", "%2e", "ä"} {
		t.Run(name, func(t *testing.T) {
			var got string
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.URL.Path
				_, _ = w.Write(golden(t, "node"))
			})
			_, err := c.Node(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, "/v1/nodes/"+name, got)
		})
	}
}

func TestAnswersAreKeptAsTheyCame(t *testing.T) {
	for name, into := range map[string]json.Marshaler{
		"node": &client.Node{}, "port": &client.Port{}, "driver": &client.Driver{}, "conductor": &client.Conductor{},
		"operation_done": &client.Operation{}, "operation_failed": &client.Operation{}, "validate": &client.Validation{},
	} {
		t.Run(name, func(t *testing.T) {
			raw := golden(t, name)
			require.NoError(t, json.Unmarshal(raw, into))
			again, err := json.Marshal(into)
			require.NoError(t, err)
			var want bytes.Buffer
			require.NoError(t, json.Compact(&want, raw))
			require.Equal(t, want.String(), string(again))
		})
	}
}

func TestOperationsAreRead(t *testing.T) {
	var o client.Operation
	require.NoError(t, json.Unmarshal(golden(t, "operation_failed"), &o))
	require.True(t, o.Ended())
	require.Equal(t, "sim-0001", o.Label())
	require.Equal(t, "deploy.prepare", o.Current().Name())
	require.Contains(t, o.Current().LastError, "401")
	require.True(t, client.Newer("10", "9"))
	require.False(t, client.Newer("9", "10"))
	require.False(t, client.Newer("x", "9"))
}

func TestReadsAreTriedAgainWhileTheAPISaysLater(t *testing.T) {
	var asked atomic.Int32
	var told []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(golden(t, "node"))
	}))
	defer s.Close()
	c := dial(t, client.Config{URL: s.URL, Timeout: 20 * time.Second, Retrying: func(err error, _ time.Time) { told = append(told, err.Error()) }})
	_, err := c.Node(t.Context(), "n1")
	require.NoError(t, err)
	require.EqualValues(t, 3, asked.Load())
	require.Equal(t, []string{"the API answered 503: service unavailable", "the API answered 503: service unavailable"}, told)
}

func TestReadsAreTriedAgainUntilTheAPIListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	refused := make(chan struct{}, 100)
	c := dial(t, client.Config{URL: "http://" + address, Timeout: 20 * time.Second, Retrying: func(error, time.Time) { refused <- struct{}{} }})
	done := make(chan error, 1)
	go func() {
		_, err := c.Node(t.Context(), "n1")
		done <- err
	}()
	<-refused
	l, err = net.Listen("tcp", address)
	if err != nil {
		t.Skip("somebody took the port: ", err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: always(200, golden(t, "node")), ReadHeaderTimeout: time.Second}}
	s.Start()
	defer s.Close()
	require.NoError(t, <-done)
}

func TestWhatChangesSomethingIsSentOnce(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *client.Client) error{
		"create": func(ctx context.Context, c *client.Client) error {
			_, err := c.CreateNode(ctx, map[string]any{"driver": "d"})
			return err
		},
		"patch": func(ctx context.Context, c *client.Client) error {
			_, err := c.PatchNode(ctx, "n1", client.Patch{client.Set("/extra/a", 1)}, false)
			return err
		},
		"delete": func(ctx context.Context, c *client.Client) error { return c.DeleteNode(ctx, "n1") },
		"cancel": func(ctx context.Context, c *client.Client) error {
			_, err := c.CancelOperation(ctx, "1", "")
			return err
		},
	} {
		t.Run(name+", when the API says later", func(t *testing.T) {
			var asked atomic.Int32
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			err := ask(t.Context(), c)
			require.Equal(t, http.StatusServiceUnavailable, client.StatusOf(err))
			require.EqualValues(t, 1, asked.Load())
		})
		t.Run(name+", when the answer is lost", func(t *testing.T) {
			var asked atomic.Int32
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					_ = conn.Close()
				}
			})
			err := ask(t.Context(), c)
			require.ErrorContains(t, err, "may have been accepted: the connection was closed")
			require.EqualValues(t, 1, asked.Load())
		})
	}
}

func TestTheTimeLimitHoldsOverAllTries(t *testing.T) {
	s := httptest.NewServer(always(503, nil))
	defer s.Close()
	c := dial(t, client.Config{URL: s.URL, Timeout: 700 * time.Millisecond})
	began := time.Now()
	_, err := c.Node(t.Context(), "n1")
	require.Equal(t, http.StatusServiceUnavailable, client.StatusOf(err))
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestAnAPIThatHangsIsGivenUp(t *testing.T) {
	c := dial(t, client.Config{URL: hanging(t), Timeout: 200 * time.Millisecond})
	_, err := c.Node(t.Context(), "n1")
	require.ErrorContains(t, err, "did not answer: it took too long")
}

func TestWhoeverIsInterruptedHearsOnlyThat(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := dial(t, client.Config{URL: hanging(t, cancel), Timeout: time.Minute})
	_, err := c.Node(ctx, "n1")
	require.ErrorIs(t, err, context.Canceled)
}

// hanging is an API that never answers; asked is called with each request.
func hanging(t *testing.T, asked ...func()) string {
	t.Helper()
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, f := range asked {
			f()
		}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(over) })
	return s.URL
}

func TestNobodyIsFollowedElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Error("asked elsewhere, with " + r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	_, err := c.Node(t.Context(), "n1")
	require.ErrorContains(t, err, "not Temper's API: it says 302")
}

func TestOperationsOfRequestsComeFromTheirHeader(t *testing.T) {
	var body map[string]any
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Temper-Operation", "12")
		w.WriteHeader(http.StatusAccepted)
	})
	id, err := c.Work(t.Context(), "n1", client.Work{Verb: "active", ConfigDrive: "http://x/y", InstanceInfo: map[string]any{"a": 1, "b": nil}, Key: "k"})
	require.NoError(t, err)
	require.Equal(t, "12", id)
	require.Equal(t, map[string]any{
		"verb": "active", "config_drive": "http://x/y", "instance_info": map[string]any{"a": 1.0, "b": nil}, "idempotency_key": "k",
	}, body)
	body = nil
	id, err = c.Work(t.Context(), "n1", client.Work{Verb: "soft rebooting", Timeout: 90, Terms: client.Terms{OnFailure: "hold", WaitForConductor: true}})
	require.NoError(t, err)
	require.Equal(t, "12", id)
	require.Len(t, body["idempotency_key"], 36)
	delete(body, "idempotency_key")
	require.Equal(t, map[string]any{"verb": "soft rebooting", "timeout": 90.0, "on_failure": "hold", "wait_for_conductor": true}, body)
}

func TestWorkIsTried(t *testing.T) {
	var body map[string]any
	const answer = `{"accepted": false, "refusals": [{"code": "node_in_maintenance", "message": "No"}], "steps": [{"interface": "deploy", "step": "prepare", "expected_seconds": 1.5}, {"interface": "a", "step": "b", "expected_seconds": null}]}`
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = io.WriteString(w, answer)
	})
	got, err := c.TryWork(t.Context(), "n1", client.Work{Verb: "active", Key: "k"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"verb": "active", "idempotency_key": "k", "dry_run": true}, body)
	require.False(t, got.Accepted)
	require.Equal(t, []client.Refusal{{Code: "node_in_maintenance", Message: "No"}}, got.Refusals)
	require.InDelta(t, 1.5, *got.Steps[0].ExpectedSeconds, 0)
	require.Nil(t, got.Steps[1].ExpectedSeconds)
	require.JSONEq(t, answer, string(got.Raw()))
}

func TestWorkIsAskedForAgainWhereTheAnswerIsLost(t *testing.T) {
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Key string `json:"idempotency_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		keys = append(keys, body.Key)
		if conn, _, err := w.(http.Hijacker).Hijack(); len(keys) == 1 && err == nil {
			_ = conn.Close()
			return
		} else if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nTemper-Operation: 12\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = conn.Close()
		}
	})
	id, err := c.Work(t.Context(), "n1", client.Work{Verb: "active"})
	require.NoError(t, err)
	require.Equal(t, "12", id)
	require.Len(t, keys, 2)
	require.Equal(t, keys[0], keys[1], "it is the same request")
	require.NotEmpty(t, keys[0])

	asked := 0
	c = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	_, err = c.Work(t.Context(), "n1", client.Work{Verb: "active"})
	require.Equal(t, http.StatusServiceUnavailable, client.StatusOf(err))
	require.Equal(t, 1, asked, "a refusal is one")
}

func TestErrorsAreSentences(t *testing.T) {
	packed := func(words string) []byte {
		inner, err := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": words, "debuginfo": nil})
		require.NoError(t, err)
		outer, err := json.Marshal(map[string]string{"error_message": string(inner)})
		require.NoError(t, err)
		return outer
	}
	for name, c := range map[string]struct {
		status int
		body   []byte
		want   string
		stage  client.Stage
	}{
		"Ironic's JSON in a string":      {404, golden(t, "notfound"), "Node nope could not be found", client.Refused},
		"an object instead of a string":  {404, []byte(`{"error_message":{"faultstring":"Not here."}}`), "Not here", client.Refused},
		"a plain string":                 {400, []byte(`{"error_message":"No."}`), "No", client.Refused},
		"line breaks become spaces":      {400, packed("one\ntwo."), "one two", client.Refused},
		"basic auth has its own shape":   {401, []byte(`{"error":{"message":"Authorization required","code":401}}`), "the API at URL refused the login: Authorization required", client.Refused},
		"a fault of the API has its log": {500, packed("Internal error"), "the API answered 500: Internal error (its log has req-1)", client.Refused},
		"a proxy without an API":         {502, []byte("<html>bad gateway</html>"), "the API answered 502: bad gateway (its log has req-1)", client.Refused},
		"a web server that is no API":    {404, []byte("<html>no</html>"), "GET URL/v1/nodes/n1: what answers there is not Temper's API: it says 404 not found", client.Unreadable},
		"an empty refusal":               {403, nil, "GET URL/v1/nodes/n1: what answers there is not Temper's API: it says 403 forbidden", client.Unreadable},
		"a page that is no JSON":         {200, []byte("<html>"), "GET URL/v1/nodes/n1: what answers there is not Temper's API: its answer is not what was asked for", client.Unreadable},
		"JSON of another shape":          {200, []byte(`[1]`), "GET URL/v1/nodes/n1: what answers there is not Temper's API: its answer is not what was asked for", client.Unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			cl := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("OpenStack-Request-Id", "req-1")
				w.WriteHeader(c.status)
				_, _ = w.Write(c.body)
			})
			_, err := cl.Node(t.Context(), "n1")
			require.EqualError(t, err, strings.ReplaceAll(c.want, "URL", cl.URL()))
			stage, ok := client.StageOf(err)
			require.True(t, ok)
			require.Equal(t, c.stage, stage)
		})
	}
}

func TestAWrongCertificateIsNotAskedAgain(t *testing.T) {
	s := httptest.NewUnstartedServer(always(200, golden(t, "node")))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake that is meant to fail
	s.StartTLS()
	defer s.Close()
	c := dial(t, client.Config{URL: s.URL, Timeout: time.Minute, Retrying: func(err error, _ time.Time) { t.Error("asked again after ", err) }})
	_, err := c.Node(t.Context(), "n1")
	require.ErrorContains(t, err, "certificate")
	stage, _ := client.StageOf(err)
	require.Equal(t, client.Unreached, stage)
}

func TestAnswersHaveABound(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"`)
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 66 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"}`)
	})
	_, err := c.Node(t.Context(), "n1")
	require.ErrorContains(t, err, "larger than 64 MiB")
}

func FuzzErrorBodies(f *testing.F) {
	f.Add([]byte(`{"error_message":"{\"faultstring\":\"x.\"}"}`))
	f.Add([]byte(`{"error_message":null,"error":{"message":"y"}}`))
	f.Add([]byte(`{"error_message":"\u0000"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		rt := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 409, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		})
		err := client.WithTransport(t, rt).DeleteNode(t.Context(), "n1")
		var e *client.Error
		require.ErrorAs(t, err, &e)
		require.NotEmpty(t, e.Error())
		require.NotContains(t, e.Error(), "\n")
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWhatHasNoNameIsNotAskedFor(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("asked ", r.Method, " ", r.URL) })
	ctx := t.Context()
	for want, asks := range map[string][]func() error{
		"the name or uuid of the node is missing": {
			func() error { _, err := c.Node(ctx, ""); return err },
			func() error { return c.DeleteNode(ctx, "") },
			func() error { _, err := c.PatchNode(ctx, "", client.Patch{client.Remove("/extra")}, false); return err },
			func() error { _, err := c.Validate(ctx, ""); return err },
			func() error { _, err := c.Work(ctx, "", client.Work{Verb: "manage"}); return err },
			func() error { _, err := c.History(ctx, "", 1); return err },
		},
		"the trait is missing":                    {func() error { return c.RemoveTrait(ctx, client.Nodes, "n1", "") }},
		"the name or uuid of the port is missing": {func() error { return c.DeletePort(ctx, "") }},
		"the name of the driver is missing": {
			func() error { _, err := c.Driver(ctx, ""); return err },
			func() error { _, err := c.DriverProperties(ctx, ""); return err },
		},
		"the name of the conductor is missing": {func() error { _, err := c.Conductor(ctx, ""); return err }},
		"the id of the operation is missing": {
			func() error { _, err := c.Operation(ctx, ""); return err },
			func() error { _, err := c.CancelOperation(ctx, "", "why"); return err },
		},
	} {
		for _, ask := range asks {
			require.EqualError(t, ask(), want)
		}
	}
}

// What nobody has judged is asked for again, with the same key, until the end of the time for that.
func TestWorkIsAskedForAgainWhileTheDatabaseIsAway(t *testing.T) {
	for _, answers := range []int{1, 3} {
		keys := []string{}
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Key string `json:"idempotency_key"`
			}
			_ = json.NewDecoder(r.Body).Decode(&body)
			if keys = append(keys, body.Key); len(keys) < answers {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, `{"code":"database_unavailable"}`)
				return
			}
			w.Header().Set("Temper-Operation", "12")
			w.WriteHeader(http.StatusAccepted)
		})
		id, err := c.Work(t.Context(), "n1", client.Work{Verb: "active"})
		require.NoError(t, err)
		require.Equal(t, "12", id)
		require.Len(t, keys, answers)
		require.Len(t, slices.Compact(keys), 1, "it is the same request")
	}

	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":"database_unavailable"}`)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URL: s.URL, Timeout: time.Hour, RepeatFor: time.Second})
	require.NoError(t, err)
	_, err = c.Work(t.Context(), "n1", client.Work{Verb: "active"})
	require.Equal(t, fault.DatabaseUnavailable, client.CodeOf(err))
	require.False(t, client.InDoubt(err))
	require.Greater(t, asked, 1)
}

// Without --timeout a command learns soon that the database of the API is away, whatever it asks. The test would take an hour if a
// reading were repeated until the end of the time that one request may take.
func TestAReadingIsRepeatedForItsOwnTime(t *testing.T) {
	asked, told := 0, time.Time{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URL: s.URL, Timeout: time.Hour, RepeatFor: time.Second, Retrying: func(_ error, until time.Time) { told = until }})
	require.NoError(t, err)
	_, err = c.Operation(t.Context(), "7")
	require.Equal(t, http.StatusServiceUnavailable, client.StatusOf(err))
	require.Greater(t, asked, 1)
	require.Less(t, time.Until(told), time.Minute, "what is told is that time")
}
