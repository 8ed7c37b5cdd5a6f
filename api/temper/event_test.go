package temper_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"go.temper.dev/temper/api"
	"go.temper.dev/temper/api/apitest"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// feed is an event stream over real HTTP.
type feed struct {
	t     *testing.T
	lines *bufio.Scanner
}

// streamTime is after what time a stream that brings nothing fails its test.
const streamTime = 2 * time.Minute

// follow opens a stream, and waits until it says where it begins.
func follow(t *testing.T, h http.Handler, query, after, login string) (*feed, string) {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	ctx, cancel := context.WithTimeout(t.Context(), streamTime)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/temper/v1/events"+query, nil)
	require.NoError(t, err)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	if name, password, ok := strings.Cut(login, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	f := &feed{t, bufio.NewScanner(answer.Body)}
	begin := f.block()
	require.Empty(t, begin["data"])
	return f, begin["id"]
}

// block is the next block of the stream, nil at its end. Comments are left out.
func (f *feed) block() map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for f.lines.Scan() {
		line := f.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && len(out) > 0:
			return out
		case line != "" && name != "":
			out[name] = value
		}
	}
	return nil
}

// event is the data of the next event.
func (f *feed) event() map[string]any {
	f.t.Helper()
	b := f.block()
	require.NotNil(f.t, b, "the stream has ended")
	var out map[string]any
	require.NoError(f.t, json.Unmarshal([]byte(b["data"]), &out), "%v", b)
	require.Equal(f.t, b["id"], fmt.Sprint(int64(out["seq"].(float64))))
	return out
}

func TestEventsAreStreamedAndResumed(t *testing.T) {
	t.Parallel()
	b := apitest.New(t).WithConductors()
	f, begin := follow(t, b.Handler, "", "", "")
	uuid := b.Post("/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "n1"}).Is(201)["uuid"].(string)
	b.Put("/v1/nodes/n1/states/provision", map[string]any{"target": "manage"}).Is(202)
	created := f.event()
	require.Equal(t, "baremetal.node.create.end", created["type"])
	require.Equal(t, uuid, created["node_uuid"])
	require.Equal(t, "n1", created["node_name"])
	require.Nil(t, created["operation"])
	f.event()
	accepted := f.event()
	require.Equal(t, "operation.accepted", accepted["type"])
	require.Equal(t, "manage", accepted["kind"])
	require.IsType(t, "", accepted["operation"])

	resumed, _ := follow(t, b.Handler, "?type=operation&node=n1&kind=manage,clean&operation="+accepted["operation"].(string), begin, "")
	require.Equal(t, accepted, resumed.event())

	id, err := strconv.ParseInt(accepted["operation"].(string), 10, 64)
	require.NoError(t, err)
	_, err = b.Store.CloseOperation(t.Context(), node.End{Operation: id, Outcome: node.Failed, Error: "401 Unauthorized", Cause: fault.BMCWrongPassword, Abandoned: true})
	require.NoError(t, err)
	failed, _ := follow(t, b.Handler, "?type=operation.ended&cause=bmc_silent,"+string(fault.BMCWrongPassword), begin, "")
	ended := failed.event()
	shown := b.Get("/temper/v1/operations/" + accepted["operation"].(string)).Is(200)
	for _, field := range []string{"state", "outcome", "error", "cause"} {
		require.Equal(t, shown[field], ended[field], field)
	}

	reset, _ := follow(t, b.Handler, "", "999", "") // a number of another database
	told := reset.block()
	require.Equal(t, "reset", told["event"])
	seq := fmt.Sprint(int64(ended["seq"].(float64)))
	require.JSONEq(t, `{"after":999,"oldest":1,"seq":`+seq+`}`, told["data"])
	require.Equal(t, seq, told["id"])
}

func TestWrongEventRequestsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t)
	for query, want := range map[string]int{"?node=nobody": 404, "?kind=dance": 400, "?cause=bad_luck": 400, "?operation=x": 400, "?state=x": 400} {
		b.Get("/temper/v1/events" + query).Fails(want)
	}
	b.With(http.Header{"Last-Event-Id": {"x"}}, "GET", "/temper/v1/events", nil).Fails(400)
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	t.Parallel()
	b := apitest.New(t, func(c *api.Config) { c.EventStreams = 1 })
	follow(t, b.Handler, "", "", "")
	refused := b.Get("/temper/v1/events").Refused(503)
	require.EqualValues(t, "too_many_streams", refused.Code)
}

func htpasswd(t *testing.T, path string, passwords map[string]string) {
	t.Helper()
	var lines strings.Builder
	for user, password := range passwords {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		require.NoError(t, err)
		fmt.Fprintf(&lines, "%s:%s\n", user, hash)
	}
	require.NoError(t, os.WriteFile(path+".new", []byte(lines.String()), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// A stream ends with the rights that it was opened with.
func TestAStreamEndsWithItsLogin(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]map[string]string{
		"the user is removed":     {"bob": "secret-b"},
		"the password is changed": {"ann": "another", "bob": "secret-b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "htpasswd")
			htpasswd(t, path, map[string]string{"ann": "secret-a", "bob": "secret-b"})
			b := apitest.New(t, func(c *api.Config) {
				c.Auth = api.Auth{Strategy: api.HTTPBasic, File: path}
			})
			f, _ := follow(t, b.Handler, "", "", "ann:secret-a")
			began := time.Now()
			htpasswd(t, path, later)
			require.Nil(t, f.block(), "it ends")
			require.Less(t, time.Since(began), 10*time.Second+slack)
		})
	}
}

// slack is what a busy machine may add; an event that ends the stream never comes.
const slack = 20 * time.Second
