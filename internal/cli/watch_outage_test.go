package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/cli/clitest"
	"go.temper.dev/temper/internal/cli/exit"
	"go.temper.dev/temper/internal/fault"
)

// outage is an API that answers GET requests with these in turn; the last one stays.
type outage struct {
	t       *testing.T
	mu      sync.Mutex
	answers []func(http.ResponseWriter)
	asked   chan struct{} // gets one for each request, unless nil
}

func (o *outage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	answer := o.answers[0]
	if len(o.answers) > 1 {
		o.answers = o.answers[1:]
	}
	w.Header().Set("Connection", "close") // net/http sends a request again if a connection that it uses again was closed
	answer(w)
	if o.asked != nil {
		select {
		case o.asked <- struct{}{}:
		default:
		}
	}
}

// seen answers with an operation.
func seen(state string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(clitest.Operation("7", "deploy", state, "deploy.boot running c1"))
	}
}

// dead closes the connection, as a process does that is killed.
func dead(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = c.Close()
	}
}

// refuses answers with an error, and gives each answer an id of its own.
func refuses(status int, body []byte) func(http.ResponseWriter) {
	var answers atomic.Int64
	return func(w http.ResponseWriter) {
		w.Header().Set("OpenStack-Request-Id", fmt.Sprintf("req-%d", answers.Add(1)))
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}
}

var (
	databaseAway = refuses(http.StatusServiceUnavailable, faultOf("Resource temporarily unavailable, please retry.", fault.DatabaseUnavailable))
	proxyAlone   = refuses(http.StatusBadGateway, []byte("<html>Bad Gateway</html>"))
)

func TestWatchingGoesOnAfterAnOutage(t *testing.T) {
	o := &outage{t: t, answers: []func(http.ResponseWriter){seen("running"), dead, dead, proxyAlone, databaseAway, databaseAway, seen("running"), dead, seen("ended:succeeded")}}
	got := ask(t, serving(t, o.ServeHTTP), "", "operation", "watch", "7", "--every", "2ms")
	require.NoError(t, got.failed)
	require.Equal(t, "n1: deploy 7 running, step 1 of 1: deploy.boot on c1\nn1: deploy 7 succeeded\n", got.out)
	said := strings.Split(strings.TrimSpace(got.err), "\n")
	require.Len(t, said, 6, got.err)
	for i, want := range []string{
		"lost sight of operation 7 (deploy): the API at .* did not answer: the connection was closed; it is tried again until Ctrl-C",
		"lost sight of operation 7 .*: the API answered 502: bad gateway .*;",
		"lost sight of operation 7 .*: the API answered 503: Resource temporarily unavailable, please retry \\(its log has req-1\\);",
		"operation 7 .deploy. is in sight again, after ",
		"lost sight of operation 7 .*: the API at .* did not answer",
		"operation 7 .deploy. is in sight again, after ",
	} {
		require.Regexp(t, strings.ReplaceAll("^temper: "+want, "(deploy)", ".deploy."), said[i])
	}
}

// Neither the operation nor the node's newest operation has to be seen before the outage.
func TestWatchingMayBeginInAnOutage(t *testing.T) {
	newest := func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(map[string]any{"operations": []any{clitest.Operation("7", "deploy", "running")}, "next": nil})
	}
	for args, answers := range map[string][]func(http.ResponseWriter){
		"7":         {dead, databaseAway, seen("ended:succeeded")},
		"--node n1": {dead, databaseAway, newest, dead, seen("ended:succeeded")},
	} {
		o := &outage{t: t, answers: answers}
		got := ask(t, serving(t, o.ServeHTTP), "", append([]string{"operation", "watch", "--every", "2ms"}, strings.Fields(args)...)...)
		require.NoError(t, got.failed)
		require.Contains(t, got.out, "deploy 7 succeeded")
		require.Contains(t, got.err, "lost sight of ")
		require.Contains(t, got.err, "in sight again")
	}
}

// What is said when the time is up depends on whether the API answers then.
func TestTheTimeIsUp(t *testing.T) {
	type answers = []func(http.ResponseWriter)
	for name, c := range map[string]struct {
		args    string
		answers answers
		code    int
		says    string
	}{
		"while the API is away": {
			"7 --timeout 1s",
			answers{seen("running"), dead},
			exit.CodeLost,
			"lost sight of operation 7 (deploy): the API at .* did not answer: the connection was closed, it was running at deploy.boot when it was seen last; temper operation watch 7 takes up again$",
		},
		"while the database is away": {
			"7 --wait 1s", answers{seen("running"), databaseAway}, exit.CodeLost, "lost sight of operation 7 (deploy): the API answered 503: Resource temporarily unavailable",
		},
		"before it was seen": {
			"7 --timeout 1s", answers{dead}, exit.CodeLost, "lost sight of operation 7: the API at .* did not answer: the connection was closed; temper operation watch 7 takes up again$",
		},
		"before the node's operation was seen": {
			"--node n1 --timeout 1s", answers{dead}, exit.CodeLost, "the newest operation of n1 was not seen within 1s: the API at .* did not answer",
		},
		"while the API answers": {
			"7 --timeout 1s",
			answers{seen("running")},
			exit.CodeTimeout,
			"operation 7 (deploy) has not ended within 1s, it is running at deploy.boot; temper operation watch 7 takes up again$",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &outage{t: t, answers: c.answers}
			got := ask(t, serving(t, o.ServeHTTP), "", append([]string{"operation", "watch", "--every", "20ms"}, strings.Fields(c.args)...)...)
			require.Regexp(t, strings.ReplaceAll(c.says, "(deploy)", ".deploy."), got.failed.Error())
			require.Equal(t, c.code, exit.Code(got.failed))
		})
	}
}

func TestAnInterruptDuringAnOutageSaysHowToTakeUpAgain(t *testing.T) {
	o := &outage{t: t, answers: []func(http.ResponseWriter){seen("running"), dead}, asked: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 4 { // in the last of them it knows of the outage
			<-o.asked
		}
		cancel()
	}()
	got := askIn(t, ctx, serving(t, o.ServeHTTP), "", "operation", "watch", "7", "--every", "2ms")
	require.EqualError(t, got.failed, "n1: operation 7 (deploy) goes on, it was running at deploy.boot when it was seen last; "+
		"temper operation watch 7 takes up again, temper operation cancel 7 ends it")
	require.Equal(t, exit.CodeInterrupted, exit.Code(got.failed))
}

// A refusal is no outage: the operation can't be seen later either.
func TestARefusalEndsTheWatch(t *testing.T) {
	o := &outage{t: t, answers: []func(http.ResponseWriter){seen("running"), refuses(http.StatusUnauthorized, faultOf("Incorrect username or password", fault.Unauthenticated))}}
	got := ask(t, serving(t, o.ServeHTTP), "", "operation", "watch", "7", "--every", "2ms")
	require.ErrorContains(t, got.failed, "lost sight of operation 7: the API at ")
	require.Equal(t, exit.CodeLost, exit.Code(got.failed))
	require.Empty(t, got.err)
}

// Of an operation that is not there nothing is shown but the error.
func TestWatchingAnOperationThatIsNotThere(t *testing.T) {
	unknown := refuses(http.StatusNotFound, faultOf("Operation 7 could not be found.", fault.OperationNotFound))
	o := &outage{t: t, answers: []func(http.ResponseWriter){unknown}}
	got := ask(t, serving(t, o.ServeHTTP), "", "operation", "watch", "7", "--every", "2ms")
	require.ErrorContains(t, got.failed, "7: Operation 7 could not be found")
	require.Equal(t, exit.CodeFailed, exit.Code(got.failed))
	require.Empty(t, got.out+got.err)
}

func TestHelpHasEveryExitCode(t *testing.T) {
	for _, command := range []string{"operation watch", "node deploy", "operation retry"} {
		got := ask(t, "", "", append(strings.Fields(command), "--help")...)
		require.NoError(t, got.failed)
		for _, row := range exit.Codes {
			require.Regexp(t, `(?m)^ +`+fmt.Sprint(row.Code)+`  \S`, got.out, command)
		}
		require.Contains(t, got.out, "the first of these counts: 130, 2, 1, 4, 124, 3.")
	}
}

// The API answers and accepts requests while Temporal is away, and nothing goes on.
func TestAFollowedOperationThatTemporalHoldsUp(t *testing.T) {
	broken := `{"ok":false,"parts":[{"name":"api","ok":true,"message":"it answers"},{"name":"temporal","ok":false,"since":"2026-01-02T03:04:05+00:00",` +
		`"message":"Temporal does not answer","works":"operations begin and go on when it answers"},{"name":"clocks","ok":false,"message":"they differ"}]}`
	fine := strings.Replace(broken, `"temporal","ok":false`, `"temporal","ok":true`, 1)
	for _, command := range []string{"node undeploy n1 --wait 1m", "node deploy n1 --image http://i/x --checksum 0 --watch", "operation watch 7"} {
		t.Run(command, func(t *testing.T) {
			var asked atomic.Int32 // for the status
			got := ask(t, serving(t, func(w http.ResponseWriter, r *http.Request) {
				kind, _, _ := strings.Cut(strings.TrimPrefix(command, "node "), " ")
				switch {
				case r.Method == http.MethodPost:
					w.Header().Set("Temper-Operation", "7")
					w.WriteHeader(http.StatusAccepted)
				case r.URL.Path == "/temper/v1/status":
					if asked.Add(1) < 3 {
						_, _ = io.WriteString(w, broken)
					} else {
						_, _ = io.WriteString(w, fine)
					}
				case asked.Load() < 4: // the answer that all is well was read before the next question
					_ = json.NewEncoder(w).Encode(clitest.Operation("7", kind, "running", "deploy.boot running c1"))
				default:
					_ = json.NewEncoder(w).Encode(clitest.Operation("7", kind, "ended:succeeded"))
				}
			}), "", append(strings.Fields(command), "--every", "2ms")...)
			require.NoError(t, got.failed)
			require.Regexp(t, `^temper: Temporal does not answer, since 2026-01-02 03:04:05Z: operations begin and go on when it answers
temper: Temporal works again, after \S+
$`, got.err)
		})
	}
}

// What the API warns of is said once, although the request was accepted.
func TestWarningsOfTheAPIAreSaidOnce(t *testing.T) {
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Temper-Operation", "7")
			w.Header().Set("Temper-Warning", "Temporal does not answer: the request is accepted")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_ = json.NewEncoder(w).Encode(clitest.Operation("7", "deploy", "accepted"))
	})
	got := ask(t, api, "", "node", "deploy", "n1", "n2")
	require.NoError(t, got.failed)
	require.Equal(t, "temper: Temporal does not answer: the request is accepted\n", got.err)
	require.Equal(t, 2, strings.Count(got.out, "accepted"))
}

// Who requests work is told whether it was accepted. A request in doubt is sent again, with the same key, until that is known.
func TestWhoRequestsWorkIsToldWhetherItWasAccepted(t *testing.T) {
	var keys []string
	code := fault.DatabaseUnavailable
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			_ = json.NewEncoder(w).Encode(clitest.Operation("7", "deploy", "accepted"))
			return
		}
		var body struct {
			Key string `json:"idempotency_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if keys = append(keys, body.Key); code == fault.RequestInDoubt && len(keys) == 3 {
			w.Header().Set("Temper-Operation", "7")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(faultOf("Resource temporarily unavailable, please retry. It is away.", code))
	})
	got := ask(t, api, "", "node", "deploy", "n1")
	require.ErrorContains(t, got.failed, "n1: the API answered 503: It is away; the request was not accepted")
	require.Greater(t, len(keys), 1, "it is sent again while the database is away")
	require.Len(t, slices.Compact(keys), 1, "with the same key, so that it is accepted once")

	code, keys = fault.RequestInDoubt, nil
	got = ask(t, api, "", "node", "deploy", "n1")
	require.NoError(t, got.failed)
	require.Contains(t, got.out, "accepted")
	require.Equal(t, []string{keys[0], keys[0], keys[0]}, keys)
	got = ask(t, api, "", "node", "deploy", "n1", "--timeout", "100ms")
	require.ErrorContains(t, got.failed, "temper operation list --node n1 shows whether it was accepted")
}

// An answer that does not come is not the API's fault if PostgreSQL is frozen.
func TestWatchingSaysThatPostgreSQLIsFrozen(t *testing.T) {
	var looks, asked atomic.Int64
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/temper/v1/status" && asked.Add(1) == 1:
			_, _ = io.WriteString(w, `{"ok":false,"parts":[{"name":"postgresql","ok":false,"since":"2026-01-02T03:04:05+00:00","message":"PostgreSQL does not answer","works":"servers run on"}]}`)
		case r.URL.Path == "/temper/v1/status":
			_, _ = io.WriteString(w, `{"ok":true,"parts":[{"name":"postgresql","ok":true}]}`)
		case looks.Add(1) == 1:
			<-r.Context().Done()
		default:
			seen("ended:succeeded")(w)
		}
	})
	got := ask(t, api, "", "operation", "watch", "7", "--every", "2ms")
	require.NoError(t, got.failed)
	require.Contains(t, got.err, "lost sight of operation 7: ")
	require.Contains(t, got.err, "temper: PostgreSQL does not answer, since 2026-01-02 03:04:05Z: servers run on\n")
}
