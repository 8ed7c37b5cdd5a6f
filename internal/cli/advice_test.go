package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"go.temper.dev/temper/internal/client"
	"go.temper.dev/temper/internal/fault"
	"go.temper.dev/temper/internal/node"
)

// faultOf is an error of the API.
func faultOf(words string, code fault.Code, help ...client.Help) []byte {
	inner, _ := json.Marshal(map[string]any{"faultcode": "Client", "faultstring": words, "debuginfo": nil})
	outer, _ := json.Marshal(map[string]any{"error_message": string(inner), "code": code, "help": help})
	return outer
}

func TestErrorsSayWhatToDo(t *testing.T) {
	list := client.Help{Command: "temper node list", Effect: "shows which there are"}
	why := client.Help{Command: "temper node why n1", Effect: "says what happens to it"}
	cancel := client.Help{Command: "temper operation cancel 7", Effect: "ends it"}
	for name, c := range map[string]struct {
		status int
		code   fault.Code
		help   []client.Help
		event  node.Event
		want   string
	}{
		"what the API knows":         {404, fault.NodeNotFound, []client.Help{list}, node.EventManage, "temper node list shows which there are"},
		"more than one thing":        {409, fault.NodeLocked, []client.Help{why, cancel}, node.EventDeploy, "temper node why n1 says what happens to it, temper operation cancel 7 ends it"},
		"what this program adds":     {409, fault.NodeInTransition, []client.Help{why}, "", "temper node why n1 says what happens to it"},
		"no image":                   {400, fault.ImageInvalid, nil, node.EventDeploy, "say which image with --image and --checksum"},
		"a secret":                   {400, fault.SecretRequired, nil, "", "--driver-info @FILE and --instance-info @FILE read secrets from a JSON file"},
		"the database away":          {503, fault.DatabaseUnavailable, nil, "", ""},
		"an older API":               {406, fault.VersionNotSupported, nil, "", "the API is older than this program: use the program of the API's version"},
		"not let in":                 {401, fault.Unauthenticated, nil, "", "say who you are with TEMPER_API_USER and TEMPER_API_PASSWORD"},
		"deploy of what is active":   {400, fault.AlreadyInState, nil, node.EventDeploy, "it is active already"},
		"inspect of what is active":  {400, fault.StateNotAllowed, nil, node.EventInspect, "that is possible in: manageable, inspect failed"},
		"unhold of what is not held": {400, fault.StateNotAllowed, nil, node.EventUnhold, "that is possible in: deploy hold, clean hold, service hold"},
		"a power change":             {400, fault.StateNotAllowed, nil, "", ""},
		"an API without codes":       {400, "", nil, node.EventDeploy, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := &client.Error{Status: c.status, Words: "No", Code: c.code, Help: c.help}
			got := withAdviceFor(err, c.event)
			want := err.Error()
			if c.want != "" {
				want += "; " + c.want
			}
			require.EqualError(t, got, want)
			require.Equal(t, got, withAdvice(got), "advised twice")
			require.Equal(t, c.status, client.StatusOf(got))
		})
	}
	require.NoError(t, withAdvice(nil))
}

func refusal(uuid, action, state string) string {
	return fmt.Sprintf("The requested action %q can not be performed on node %q while it is in state %q.", action, uuid, state)
}

func TestManyFailuresAreOneError(t *testing.T) {
	boom := errors.New("boom")
	all := forEach(t.Context(), []string{"a", "b", "c", "d"}, 2, "", func(_ context.Context, name string) (int, error) {
		switch name {
		case "a", "d":
			return 0, boom
		case "c":
			return 0, errors.New("bang")
		}
		return 1, nil
	})
	require.Equal(t, []int{1}, succeeded(all))
	err := joinFailures(all)
	require.EqualError(t, err, "3 of 4 failed:\n  a, d: boom\n  c: bang")
	require.ErrorIs(t, err, boom)
	require.NoError(t, joinFailures(all[1:2]))
	require.EqualError(t, joinFailures(all[:1]), "a: boom")
}

func TestSoManyAtATimeAndNoMore(t *testing.T) {
	var now, most atomic.Int32
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	release := make(chan struct{})
	go func() {
		for range names {
			release <- struct{}{}
		}
	}()
	all := forEach(t.Context(), names, 3, "", func(context.Context, string) (int, error) {
		n := now.Add(1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-release
		now.Add(-1)
		return 0, nil
	})
	require.LessOrEqual(t, most.Load(), int32(3))
	for i, d := range all {
		require.Equal(t, names[i], d.name, "the order is lost")
	}
}

func TestOneBadNodeDoesNotStopTheOthers(t *testing.T) {
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/nodes/bad":
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write(faultOf("Node bad could not be found.", fault.NodeNotFound, client.Help{Command: "temper node list", Effect: "shows which there are"}))
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	got := ask(t, api, "", "node", "delete", "n1", "bad", "n2", "n1")
	require.Equal(t, "n1: deleted\nn2: deleted\n", got.out)
	require.EqualError(t, got.failed, "1 of 3 failed:\n  bad: Node bad could not be found; temper node list shows which there are")
}

func TestAllInAStateAreAskedForFirst(t *testing.T) {
	var deleted atomic.Int32
	api := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			deleted.Add(1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if state := r.URL.Query().Get("provision_state"); state != "enroll" {
			_, _ = w.Write([]byte(`{"nodes":[]}`))
			return
		}
		_, _ = w.Write([]byte(`{"nodes":[{"name":"n1","uuid":"u1"},{"name":null,"uuid":"u2"}]}`))
	})
	args := []string{"node", "delete", "--all-in-state", "enroll"}
	for in, want := range map[string]string{"": "say --yes", "n\n": "nothing was done", "what\n": "nothing was done"} {
		got := ask(t, api, in, args...)
		require.ErrorContains(t, got.failed, want)
		require.Contains(t, got.err, "delete 2 nodes (n1, u2)? [y/N]")
		require.Zero(t, deleted.Load())
	}
	require.NoError(t, ask(t, api, "y\n", args...).failed)
	require.EqualValues(t, 2, deleted.Load())
	got := ask(t, api, "", append(args, "--yes")...)
	require.NoError(t, got.failed)
	require.Equal(t, "n1: deleted\nu2: deleted\n", got.out)
	require.Empty(t, got.err)
	got = ask(t, api, "", "node", "delete", "--all-in-state", "active", "--yes")
	require.NoError(t, got.failed)
	require.Equal(t, "temper: no node is in state active\n", got.err)
}
